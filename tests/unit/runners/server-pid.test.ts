import { expect, test } from "vitest";
import { listeningInodes } from "../../../src/runners/linux-listener.ts";
import { listenerPid } from "../../../src/runners/server-pid.ts";
import { fakeServer } from "../../helpers/fake-http.ts";

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0
   1: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0
   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0
   3: 0100007F:1F90 00000000:0000 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0
`;

test("only sockets that listen on the very port are found", () => {
  expect(listeningInodes(TABLE, 8080)).toEqual(["4711"]);
  expect(listeningInodes(TABLE, 8081)).toEqual(["4713"]);
  expect(listeningInodes(TABLE, 80)).toEqual([]);
  expect(listeningInodes("", 8080)).toEqual([]);
});

test("the process that listens is found, also by name", async () => {
  const server = await fakeServer(() => undefined);
  expect(await listenerPid(server.url)).toBe(process.pid);
  expect(await listenerPid(`http://localhost:${server.port}`)).toBe(process.pid);
});

test("nobody, and other machines, have no process here", async () => {
  const server = await fakeServer(() => undefined);
  await server.close();
  expect(await listenerPid(server.url)).toBeNull();
  expect(await listenerPid(`http://192.0.2.1:${server.port}`)).toBeNull();
});
