import {
  appendFileSync,
  mkdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wantedOf } from "../../../../src/daemon/service/choice.ts";
import { findBlock, withBlock } from "../../../../src/daemon/service/crontab.ts";
import { logText, LogTail, showLog } from "../../../../src/daemon/service/logs.ts";
import { chooseNode } from "../../../../src/daemon/service/node-choice.ts";
import { placePackages } from "../../../../src/daemon/service/packages.ts";
import {
  copyProgram,
  flip,
  isCopied,
  programSource,
} from "../../../../src/daemon/service/program-copy.ts";
import { unitArgument, unitPath, xmlText } from "../../../../src/daemon/service/quote.ts";
import { FakeClock } from "../../../helpers/fake-clock.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

describe("the block in a crontab", () => {
  const block = "# BEGIN touchstoned (x)\n@reboot run\n# END touchstoned";

  it("goes to the end, and what is there stays as it is", () => {
    expect(withBlock("", block)).toBe(`${block}\n`);
    expect(withBlock("0 1 * * * mine\n", block)).toBe(`0 1 * * * mine\n${block}\n`);
    expect(withBlock("0 1 * * * mine", block)).toBe(`0 1 * * * mine\n${block}\n`);
  });

  it("is replaced where it stands, and taken out without a trace", () => {
    const crontab = `# mine\n${block}\n5 5 * * * later\n`;
    const other = block.replace("run", "run2");
    expect(withBlock(crontab, other)).toBe(`# mine\n${other}\n5 5 * * * later\n`);
    expect(withBlock(crontab, null)).toBe("# mine\n5 5 * * * later\n");
    expect(withBlock(`${block}\n`, null)).toBe("");
    expect(withBlock("# mine\n", null)).toBe("# mine\n");
  });

  it("without its end takes nothing of a person's with it", () => {
    const torn = "# BEGIN touchstoned (x)\n0 1 * * * mine\n";
    expect(findBlock(torn)).toEqual(["# BEGIN touchstoned (x)"]);
    expect(withBlock(torn, null)).toBe("0 1 * * * mine\n");
  });
});

describe("quoting", () => {
  it.each([
    ["/plain/path-1.0", "/plain/path-1.0"],
    ["/a b", '"/a b"'],
    ["/50%", "/50%%"],
    ["/$x", '"/$$x"'],
    ['/"q"', String.raw`"/\"q\""`],
    [String.raw`/b\n`, String.raw`"/b\\n"`],
    ["", '""'],
  ])("%j is an argument of a unit as %s", (text, quoted) => {
    expect(unitArgument(text)).toBe(quoted);
    expect(unitPath(text)).toBe(quoted.replaceAll("$$", "$"));
  });

  it("leaves nothing in XML that is no text", () => {
    expect(xmlText("a & b < c > d &amp;")).toBe("a &amp; b &lt; c &gt; d &amp;amp;");
  });
});

describe("options", () => {
  it("name one manager or none", () => {
    expect(wantedOf({})).toBeUndefined();
    expect(wantedOf({ cron: true })).toBe("cron");
    expect(() => wantedOf({ user: true, system: true })).toThrow("--user and --system");
  });
});

/** Packages as npm may lay them out: `name` -> what it needs. */
function packageAt(path: string, dependencies: Record<string, string> = {}, optional = {}): string {
  mkdirSync(path, { recursive: true });
  const manifest = { dependencies, optionalDependencies: optional };
  writeFileSync(join(path, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(path, "index.js"), path);
  return path;
}

describe("the packages of the program", () => {
  const places = (root: string) =>
    Object.fromEntries(placePackages(root).map(({ to, from }) => [to, from]));

  it("are found beside it, hoisted above it, nested and linked", () => {
    const dir = tempDir();
    const root = packageAt(join(dir, "node_modules/touchstoned"), { a: "*", b: "*", "@s/c": "*" });
    const a = packageAt(join(root, "node_modules/a"), { b: "1" });
    const a_b = packageAt(join(a, "node_modules/b"));
    const b = packageAt(join(dir, "node_modules/b"));
    const store = packageAt(join(dir, "store/c"), { b: "*" });
    mkdirSync(join(dir, "node_modules/@s"));
    symlinkSync(store, join(dir, "node_modules/@s/c"));
    packageAt(join(dir, "store/node_modules/b"));
    expect(places(root)).toEqual({
      "": root,
      "node_modules/a": a,
      "node_modules/b": b,
      "node_modules/@s/c": store,
      "node_modules/a/node_modules/b": a_b,
      // By Node's rule the linked one finds the one beside its real place.
      "node_modules/@s/c/node_modules/b": join(dir, "store/node_modules/b"),
    });
  });

  it("may need each other in a circle, and may lack what is optional", () => {
    const dir = tempDir();
    const root = packageAt(join(dir, "x"), { a: "*" }, { none: "*" });
    packageAt(join(root, "node_modules/a"), { b: "*" });
    packageAt(join(root, "node_modules/b"), { a: "*" });
    expect(Object.keys(places(root))).toEqual(["", "node_modules/a", "node_modules/b"]);
  });

  it("are missed by name", () => {
    const root = packageAt(join(tempDir(), "x"), { gone: "*" });
    expect(() => placePackages(root)).toThrow(/gone, which .* needs, is not installed/);
    expect(() => programSource(root)).toThrow("the program cannot be copied");
  });
});

describe("copies of the program", () => {
  function source(text: string) {
    const root = packageAt(join(tempDir(), "x"));
    mkdirSync(join(root, "src"));
    writeFileSync(join(root, "src/main.ts"), text, { mode: 0o700 });
    mkdirSync(join(root, "tests"));
    writeFileSync(join(root, "tests/secret"), "");
    return { ...programSource(root), version: "1.0.0" };
  }

  it("lie beside each other, another one of the same version under a longer name", () => {
    const dir = tempDir();
    const there = { versions: join(dir, "versions"), current: join(dir, "current") };
    const [one, two] = [source("one"), source("two")];
    expect([...one.files.keys()]).toEqual(["src/main.ts", "package.json"]);
    expect(copyProgram(one, there)).toBe("1.0.0");
    expect(copyProgram(one, there)).toBe("1.0.0");
    expect(copyProgram(two, there)).toBe(`1.0.0+${two.digest.slice(0, 8)}`);
    expect(isCopied(one, there) && isCopied(two, there)).toBe(true);
    flip(there, "1.0.0");
    // Whatever the umask and the mode it was copied with: others may run it.
    expect(statSync(join(there.current, "src/main.ts")).mode & 0o777).toBe(0o755);
    expect(statSync(join(there.current, "src")).mode & 0o777).toBe(0o755);
  });

  it("that were cut short do not count", () => {
    const there = { versions: join(tempDir(), "versions") };
    mkdirSync(join(there.versions, ".new-1.0.0/src"), { recursive: true });
    const one = source("one");
    expect(isCopied(one, there)).toBe(false);
    expect(copyProgram(one, there)).toBe("1.0.0");
  });
});

describe("the Node that is recorded", () => {
  it("goes by a name that an upgrade keeps, where one leads to it", () => {
    const root = tempDir();
    const cellar = join(root, "opt/homebrew/Cellar/node/24.1.0/bin");
    mkdirSync(cellar, { recursive: true });
    writeFileSync(join(cellar, "node"), "");
    mkdirSync(join(root, "opt/homebrew/bin"));
    const stable = join(root, "opt/homebrew/bin/node");
    symlinkSync(join(cellar, "node"), stable);
    expect(chooseNode({ root, exec_path: join(cellar, "node") })).toEqual({
      path: stable,
      note: null,
    });
  });

  it.each([
    ["/home/me/project/node_modules/node/bin/node", "/home/me/project"],
    ["/Applications/Some.app/Contents/Resources/node", "/Applications/Some.app"],
  ])("is not another one's own: %s", (exec_path, owner) => {
    const { path, note } = chooseNode({ root: tempDir(), exec_path });
    expect(path).toBeNull();
    expect(note).toContain(`is a part of ${owner},`);
  });

  it("is where it is, of nvm and the like", () => {
    const exec_path = "/home/me/.nvm/versions/node/v24.1.0/bin/node";
    expect(chooseNode({ root: tempDir(), exec_path }).path).toBe(exec_path);
  });
});

describe("the log", () => {
  it("is told in words; what is no record is shown as it is", () => {
    const line = '{"level":40,"time":"2026-01-15T20:00:00.000Z","msg":"disk low","free":3}';
    expect(logText(line)).toBe('2026-01-15T20:00:00.000Z  warning  disk low  {"free":3}');
    expect(logText('{"level":30,"time":"t","msg":"x"}')).toBe("t  x");
    expect(logText("half a li")).toBe("half a li");
    expect(logText('{"msg":"\\u001b[31mred"}')).not.toContain("\u001b");
  });

  it("is read on where it grows, half lines wait, and a new file of its name is begun", () => {
    const path = join(tempDir(), "daemon.log");
    const tail = new LogTail(path);
    expect(tail.read()).toBeNull();
    writeFileSync(path, "one\ntw");
    expect(tail.read()).toEqual(["one"]);
    appendFileSync(path, "o\n");
    expect(tail.read()).toEqual(["two"]);
    expect(tail.read()).toEqual([]);
    appendFileSync(path, "last\n");
    renameSync(path, `${path}.1`);
    writeFileSync(path, "new\n");
    expect(tail.read()).toEqual(["last", "new"]);
    writeFileSync(path, "\n");
    expect(tail.read()).toEqual([""]);
    tail.close();
  });

  it("is followed until it is enough", async () => {
    const path = join(tempDir(), "daemon.log");
    writeFileSync(path, "1\n2\n3\n");
    const [seen, stop, clock] = [
      [] as string[],
      new AbortController(),
      new FakeClock({ jumpSleeps: true }),
    ];
    const onLine = (line: string): void => {
      seen.push(line);
      if (line === "3") appendFileSync(path, "4\n");
      if (line === "4") stop.abort();
    };
    const there = await showLog({
      path,
      lines: 2,
      follow: true,
      clock,
      signal: stop.signal,
      onLine,
    });
    expect([there, seen]).toEqual([true, ["2", "3", "4"]]);
    const signal = new AbortController().signal;
    const none = { path: `${path}.no`, lines: 2, follow: false, clock, signal, onLine };
    expect(await showLog(none)).toBe(false);
  });
});
