import { createHash } from "node:crypto";

/** Of all programs that name models by their files' hashes this way. */
const NAMESPACE = "dbc87c22-6b6d-4f89-9757-d186f0f62719";

/** UUID, version 5 (RFC 9562): the same namespace and name give the same id everywhere. */
function uuid5(namespace: string, name: string): string {
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...groups, hex.slice(20, 32)].join("-");
}

/** Id of the model whose file has this hash, written `sha256:` and 64 hex digits. */
export function modelId(model_hash: string): string {
  return uuid5(NAMESPACE, model_hash);
}
