// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { extract, pack } from "tar-stream";
import { spawnPurlin } from "../../test/spawn-purlin.ts";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { readBackup, skip } from "./backup-archive.ts";

const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {key: ${name}}\n`;

let folder: TempFolder;
const purlin = (...args: string[]): Promise<Outcome> => runInProcess(args, { cwd: folder.path, env: {} });
const serve = (name: string): Promise<EmbeddedServer> =>
  startEmbeddedServer({ directory: join(folder.path, name), port: 0, warn: () => {} });

before(async () => {
  folder = tempFolder({ "kept.yaml": configMap("kept"), "later.yaml": configMap("later") });
  await using _ = await serve("first");
  assert.equal((await purlin("apply", "-f", "kept.yaml", "--data-dir", "first")).exitCode, 0);
  mkdirSync(join(folder.path, "first/registry/blobs/sha256"), { recursive: true });
  writeFileSync(join(folder.path, "first/registry/blobs/sha256/abc"), "a blob");
  mkdirSync(join(folder.path, "first/registry/uploads"), { recursive: true });
  writeFileSync(join(folder.path, "first/registry/uploads/half"), "half a blob");
  const backup = await purlin("backup", "running.purlin", "--data-dir", "first");
  assert.deepEqual([backup.stderr, backup.exitCode], ["", 0]);
  assert.match(backup.stdout, /^✓ running\.purlin: \d+ objects at revision \d+, \d+ KiB, verified\n$/);
});
after(() => folder[Symbol.dispose]());

test("a backup of a running control plane is restored with its objects, keys and registry", async () => {
  const restored = await purlin("restore", "running.purlin", "--data-dir", "second");
  assert.deepEqual([restored.stderr, restored.exitCode], ["", 0]);
  const read = (path: string): string => readFileSync(join(folder.path, path), "utf8");
  assert.equal(read("second/pki/ca.pem"), read("first/pki/ca.pem"));
  assert.equal(read("second/registry/blobs/sha256/abc"), "a blob");
  assert.equal(existsSync(join(folder.path, "second/registry/uploads/half")), false);
  assert.equal(statSync(join(folder.path, "second")).mode & 0o077, 0);
  await using _ = await serve("second");
  const got = await purlin("get", "configmap", "kept", "--data-dir", "second", "-o", "jsonpath={.data.key}");
  assert.equal(got.stdout, "kept");
});

test("backup and restore print a document with -o json", async () => {
  const backup = await purlin("backup", "as-data.purlin", "--data-dir", "first", "-o", "json");
  const { revision, objects, ...saved } = JSON.parse(backup.stdout);
  const file = join(folder.path, "as-data.purlin");
  assert.deepEqual(saved, { apiVersion: "cli.purlin.dev/v1", kind: "BackupReport", file, bytes: statSync(file).size });
  assert.ok(revision > 0 && objects > 0, backup.stdout);
  const restored = await purlin("restore", "as-data.purlin", "--data-dir", "from-data", "-o", "json");
  const report = JSON.parse(restored.stdout);
  assert.deepEqual(
    [report.kind, report.directory, report.objects, report.revision, report.former],
    ["RestoreReport", join(folder.path, "from-data"), objects, revision, undefined],
  );
});

test("a restored server does not use a revision twice", async () => {
  assert.equal((await purlin("restore", "running.purlin", "--data-dir", "later")).exitCode, 0);
  const version = async (name: string, file: string): Promise<number> => {
    await using _ = await serve(name);
    assert.equal((await purlin("apply", "-f", file, "--data-dir", name)).exitCode, 0);
    const path = ["-o", "jsonpath={.metadata.resourceVersion}"];
    const got = await purlin("get", "configmap", "later", "--data-dir", name, ...path);
    return Number(got.stdout);
  };
  assert.ok((await version("later", "later.yaml")) > (await version("first", "later.yaml")) + 900_000);
});

test("a backup of a stopped control plane is the same, and removes what killed ones left behind", async () => {
  const { pid: ended = 0 } = spawnSync(process.execPath, ["--version"]);
  mkdirSync(join(folder.path, `first/backup-${ended}-abc123`));
  writeFileSync(join(folder.path, `first/backup-${ended}-abc123/store.db`), "half");
  const running = `backup-${process.pid}-abc123`;
  mkdirSync(join(folder.path, "first", running));
  const backup = await purlin("backup", "stopped.purlin", "--data-dir", "first");
  assert.deepEqual([backup.stderr, backup.exitCode], ["", 0]);
  assert.equal((await purlin("restore", "stopped.purlin", "--data-dir", "third")).exitCode, 0);
  assert.deepEqual(
    readdirSync(join(folder.path, "first")).filter((name) => /^(backup-|snapshot)/.test(name)),
    [running],
    "nothing is left behind but the folder of a backup that runs",
  );
});

test("a backup holds every write that was acknowledged before, while writes continue", async () => {
  const directory = join(folder.path, "busy");
  await using server = spawnPurlin(["apiserver", "--data-dir", directory]);
  await server.next("stdout", /API server at/);
  let written = 0;
  const stop = new AbortController();
  const writing = (async () => {
    for (; !stop.signal.aborted; written += 1) {
      writeFileSync(join(folder.path, "next.yaml"), configMap(`n${written}`));
      assert.equal((await purlin("apply", "-f", "next.yaml", "--data-dir", "busy")).exitCode, 0);
    }
  })();
  for (let round = 0; round < 2; round += 1) {
    const before = written;
    const file = `busy-${round}.purlin`;
    assert.equal((await purlin("backup", file, "--data-dir", "busy")).stderr, "");
    assert.equal((await purlin("restore", file, "--data-dir", `busy-${round}`)).exitCode, 0);
    await using _ = await serve(`busy-${round}`);
    const listed = await purlin("get", "configmaps", "--data-dir", `busy-${round}`, "-o", "name");
    const found = listed.stdout.split("\n").filter((line) => /^configmap\/n\d+$/.test(line)).length;
    assert.ok(found >= before, `${found} of ${before}`);
  }
  stop.abort();
  await writing;
});

const damaged: Readonly<Record<string, { readonly change: (bytes: Buffer) => Buffer; readonly says: RegExp }>> = {
  "is cut off": {
    change: (bytes) => bytes.subarray(0, bytes.length / 2),
    says: /the file is incomplete: copy it again/,
  },
  "is cut off within its first file": {
    change: (bytes) => bytes.subarray(0, 5000),
    says: /the file is incomplete: copy it again/,
  },
  "has a flipped bit in a file": {
    change: (bytes) => {
      const tar = gunzipSync(bytes);
      tar[2048] = (tar[2048] ?? 0) ^ 1;
      return gzipSync(tar);
    },
    says: /digest mismatch of store\.db/,
  },
  "is another file": { change: () => Buffer.from("hello"), says: /the file is damaged or not a backup/ },
  "is empty": { change: () => Buffer.alloc(0), says: /the file is incomplete/ },
  "lacks its list of files": {
    change: (bytes) => {
      const tar = gunzipSync(bytes);
      const at = tar.indexOf("backup.json\0");
      return gzipSync(Buffer.concat([tar.subarray(0, at), Buffer.alloc(1024)]));
    },
    says: /the backup is incomplete: backup\.json is missing/,
  },
  "has a path that leaves the directory": {
    change: (bytes) => {
      const tar = gunzipSync(bytes);
      tar.write("../x.pem\0", tar.indexOf("pki/ca.pem\0"));
      return gzipSync(tar);
    },
    says: /unexpected entry|Invalid tar header/,
  },
};

/** The entries of an archive with another list of files. */
async function rebuilt(bytes: Buffer, more: Record<string, string>, facts: object = {}): Promise<Buffer> {
  const entries = new Map<string, Buffer>();
  const reading = extract();
  Readable.from([gunzipSync(bytes)]).pipe(reading);
  for await (const entry of reading) entries.set(entry.header.name, await buffer(entry));
  const manifest = JSON.parse(String(entries.get("backup.json")));
  entries.delete("backup.json");
  for (const [name, text] of Object.entries(more)) entries.set(name, Buffer.from(text));
  const digest = (content: Buffer) => createHash("sha256").update(content).digest("hex");
  const listed = [...entries].map(([name, content]) => [name, { size: content.length, sha256: digest(content) }]);
  const writing = pack();
  for (const [name, content] of entries) writing.entry({ name }, content);
  writing.entry({ name: "backup.json" }, JSON.stringify({ ...manifest, files: Object.fromEntries(listed), ...facts }));
  writing.finalize();
  return gzipSync(await buffer(writing));
}

const forged: Readonly<Record<string, { readonly by: (bytes: Buffer) => Promise<Buffer>; readonly says: RegExp }>> = {
  "brings a file that no backup holds": {
    by: (bytes) => rebuilt(bytes, { "roots/a/program": "x" }),
    says: /unexpected entry "roots\/a\/program"/,
  },
  "has an entry named as the prototype": { by: (bytes) => rebuilt(bytes, { ["__proto__"]: "x" }), says: /unexpected/ },
  "colors the terminal": {
    by: (bytes) => rebuilt(bytes, {}, { version: "\u001b[31mred" }),
    says: /backup\.json is malformed/,
  },
  "lists a name that colors the terminal": {
    by: (bytes) => rebuilt(bytes, {}, { files: { "\u001b[31m": { size: 1, sha256: "x" } } }),
    says: /malformed at "\\u001b\[31m"/,
  },
  "is a gzip bomb": {
    by: () => archiveOfSize(1024 ** 5),
    says: /store\.db needs \d+\.0 MiB, and the disk has \d+\.\d MiB free, of which 64\.0 MiB stay free/,
  },
  "lists no files": { by: (bytes) => rebuilt(bytes, {}, { files: null }), says: /backup\.json is malformed/ },
};

for (const [what, { by, says }] of Object.entries(forged)) {
  test(`a backup that ${what} is refused and nothing is restored`, async () => {
    writeFileSync(join(folder.path, "forged.purlin"), await by(readFileSync(join(folder.path, "running.purlin"))));
    const before = readdirSync(folder.path);
    const restored = await purlin("restore", "forged.purlin", "--data-dir", "never");
    assert.deepEqual([restored.exitCode, restored.stdout], [1, ""]);
    assert.match(restored.stderr, says);
    assert.ok(!restored.stderr.includes("\u001b"), restored.stderr);
    assert.deepEqual(readdirSync(folder.path), before);
  });
}

/** The beginning of an archive whose first file has a declared size. */
async function archiveOfSize(size: number): Promise<Buffer> {
  const writing = pack();
  writing.entry({ name: "store.db", size });
  const { value: header } = await writing[Symbol.asyncIterator]().next();
  return gzipSync(Buffer.concat([header as Buffer, Buffer.alloc(1024 * 1024)]));
}

test("a backup has at most 100,000 files", async () => {
  const writing = pack();
  for (let index = 0; index < 100_001; index++) writing.entry({ name: `registry/${index}` }, "");
  writing.finalize();
  const path = join(folder.path, "files.purlin");
  writeFileSync(path, gzipSync(await buffer(writing)));
  let read = 0;
  const reading = readBackup(
    path,
    ({ content }) => {
      read++;
      return skip(content);
    },
    AbortSignal.timeout(300_000),
  );
  await assert.rejects(reading, /it has more than 100000 files/);
  assert.equal(read, 100_000);
});

test("restore reads no named pipe", { timeout: 60_000 }, async () => {
  spawnSync("mkfifo", [join(folder.path, "pipe.purlin")]);
  const restored = await purlin("restore", "pipe.purlin", "--data-dir", "never");
  assert.match(restored.stderr, /cannot restore pipe\.purlin: it is a named pipe/);
});

for (const [what, { change, says }] of Object.entries(damaged)) {
  test(`a backup that ${what} is refused and nothing is restored`, async () => {
    writeFileSync(join(folder.path, "damaged.purlin"), change(readFileSync(join(folder.path, "running.purlin"))));
    const before = readdirSync(folder.path);
    const restored = await purlin("restore", "damaged.purlin", "--data-dir", "never");
    assert.equal(restored.exitCode, 1);
    assert.match(restored.stderr, says);
    assert.deepEqual(readdirSync(folder.path), before);
  });
}

const interrupted = new Error("stopped by SIGINT");
const interruptions: Readonly<Record<string, (stop: AbortController) => Disposable | undefined>> = {
  "before it begins": (stop) => {
    stop.abort(interrupted);
    return undefined;
  },
  "while it is written": (stop) => {
    const watcher = watch(folder.path, (_, name) => {
      if (name === "interrupted.purlin.partial") stop.abort(interrupted);
    });
    return { [Symbol.dispose]: () => watcher.close() };
  },
};

for (const [when, interrupt] of Object.entries(interruptions)) {
  test(`a backup that is interrupted ${when} leaves no file`, async () => {
    // A sparse file, and long enough that the backup is still being written when its file is seen.
    const blob = join(folder.path, "first/registry/blobs/sha256/large");
    writeFileSync(blob, "");
    truncateSync(blob, 2 ** 30);
    const [before, data] = [readdirSync(folder.path), readdirSync(join(folder.path, "first"))];
    const stop = new AbortController();
    using _ = interrupt(stop);
    const argv = ["backup", "interrupted.purlin", "--data-dir", "first"];
    const outcome = await runInProcess(argv, { cwd: folder.path, env: {}, signal: stop.signal });
    rmSync(blob);
    assert.notEqual(outcome.exitCode, 0);
    assert.deepEqual([readdirSync(folder.path), readdirSync(join(folder.path, "first"))], [before, data]);
  });
}

test("restore keeps a data directory that exists, and refuses one in use", async () => {
  const refused = await purlin("restore", "running.purlin", "--data-dir", "first");
  assert.match(refused.stderr, /first is not empty: choose another --data-dir, or move it aside with --replace/);
  {
    await using _ = await serve("first");
    const inUse = await purlin("restore", "running.purlin", "--data-dir", "first", "--replace");
    assert.match(inUse.stderr, /is in use by the process with pid \d+/);
  }
  const replaced = await purlin("restore", "running.purlin", "--data-dir", "first", "--replace");
  assert.equal(replaced.exitCode, 0, replaced.stderr);
  assert.match(replaced.stdout, /The former data directory is first\.before-restore\./);
  assert.ok(existsSync(join(folder.path, "first.before-restore/store.db")));
});

test("backup refuses a file that exists and a folder without a store", async () => {
  assert.match(
    (await purlin("backup", "kept.yaml", "--data-dir", "first")).stderr,
    /kept\.yaml exists: choose another/,
  );
  const nowhere = await purlin("backup", "b.purlin", "--data-dir", "nowhere");
  assert.match(nowhere.stderr, /nowhere is not the data directory of a control plane: choose one with --data-dir/);
  const unwritable = await purlin("backup", "no/such/folder.purlin", "--data-dir", "first");
  assert.match(unwritable.stderr, /cannot write no\/such\/folder\.purlin: /);
});
