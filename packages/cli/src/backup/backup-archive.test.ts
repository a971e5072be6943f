// SPDX-License-Identifier: Apache-2.0
// The archive of a backup: what is written is read, and everything else is refused with a reason.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { extract, pack } from "tar-stream";
import { type BackupFacts, readBackup, sizeText, skip, writeBackup } from "./backup-archive.ts";

const facts: BackupFacts = { version: "1.2.3", created: "2026-01-02T03:04:05.000Z", revision: 7, objects: 42 };
const { signal } = new AbortController();

async function written(folder: TempFolder, files: Readonly<Record<string, string>>): Promise<string> {
  const listed = Object.entries(files).map(([name, text]) => ({ name, path: folder.write(`source/${name}`, text) }));
  const path = join(folder.path, "backup.purlin");
  await writeBackup(path, { files: listed, facts, signal });
  return path;
}

async function textOf(content: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** What an archive holds, in its order, and its facts. */
async function readAll(path: string): Promise<{ readonly files: string[]; readonly read: BackupFacts }> {
  const files: string[] = [];
  const read = await readBackup(
    path,
    async ({ name, size, content }) => {
      const text = await textOf(content);
      assert.equal(text.length, size);
      files.push(`${name}=${text}`);
    },
    signal,
  );
  return { files, read };
}

const digestOf = (text: string): object => ({
  size: text.length,
  sha256: createHash("sha256").update(text).digest("hex"),
});

/** An archive of entries, in this order, with a list of files where one is given. */
async function archive(
  folder: TempFolder,
  entries: readonly (readonly [name: string, text: string])[],
): Promise<string> {
  const tar = pack();
  for (const [name, text] of entries) tar.entry({ name }, text);
  tar.finalize();
  const path = join(folder.path, "made.purlin");
  writeFileSync(path, gzipSync(await buffer(tar)));
  return path;
}

const manifest = (files: object, more: object = {}): string => JSON.stringify({ format: 1, ...facts, files, ...more });

describe("a backup", () => {
  test("is read as it was written, in the same order, with its facts", async () => {
    using folder = tempFolder();
    const path = await written(folder, { "store.db": "store", "pki/ca.pem": "certificate", empty: "", z: "last" });
    const { files, read } = await readAll(path);
    assert.deepEqual(files, ["store.db=store", "pki/ca.pem=certificate", "empty=", "z=last"]);
    const { version, created, revision, objects } = read;
    assert.deepEqual({ version, created, revision, objects }, facts);
  });

  test("can be read by this user only, and has the size that is reported", async () => {
    using folder = tempFolder();
    const path = join(folder.path, "backup.purlin");
    const size = await writeBackup(path, { files: [], facts, signal });
    assert.deepEqual([statSync(path).mode & 0o777, statSync(path).size], [0o600, size]);
  });

  test("is the same for the same files: no times and no owners are in it", async () => {
    using one = tempFolder();
    using other = tempFolder();
    const files = { a: "1", b: "2" };
    assert.ok(readFileSync(await written(one, files)).equals(readFileSync(await written(other, files))));
    const tar = extract();
    const times: unknown[] = [];
    tar.end(gunzipSync(readFileSync(join(one.path, "backup.purlin"))));
    for await (const entry of tar) {
      times.push([entry.header.name, entry.header.mtime?.getTime(), entry.header.mode]);
      entry.resume();
    }
    assert.deepEqual(times, [
      ["a", 0, 0o600],
      ["b", 0, 0o600],
      ["backup.json", 0, 0o600],
    ]);
  });

  test("holds files of many megabytes", async () => {
    using folder = tempFolder();
    const text = "0123456789abcdef".repeat(256 * 1024);
    const path = await written(folder, { "store.db": text });
    const { files } = await readAll(path);
    assert.equal(files[0]?.length, "store.db=".length + text.length);
  });

  test("never replaces a file", async () => {
    using folder = tempFolder({ "backup.purlin": "mine" });
    await assert.rejects(written(folder, {}), { code: "EEXIST" });
    assert.equal(readFileSync(join(folder.path, "backup.purlin"), "utf8"), "mine");
  });

  test("of a file that is gone fails with that reason", async () => {
    using folder = tempFolder();
    const path = join(folder.path, "backup.purlin");
    const files = [{ name: "a", path: join(folder.path, "gone") }];
    await assert.rejects(writeBackup(path, { files, facts, signal }), { code: "ENOENT" });
  });

  test("that is interrupted fails with the reason of the interruption", async () => {
    using folder = tempFolder({ a: "1" });
    const stopped = AbortSignal.abort(new Error("stopped by SIGINT"));
    const path = join(folder.path, "backup.purlin");
    const files = [{ name: "a", path: join(folder.path, "a") }];
    await assert.rejects(writeBackup(path, { files, facts, signal: stopped }), { message: "stopped by SIGINT" });
    assert.ok(!existsSync(path) || statSync(path).size < 100);
  });
});

test("a file of an archive whose size is not a number is an error", async () => {
  using folder = tempFolder();
  const path = await archive(folder, [["a", "text"]]);
  const tar = gunzipSync(readFileSync(path));
  // 0xab is the first byte of no notation of numbers; the checksum counts its own field as spaces.
  tar[124] = 0xab;
  tar.fill(" ", 148, 156);
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  tar.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  writeFileSync(path, gzipSync(tar));
  await assert.rejects(readAll(path), { message: 'the entry "a" has no valid size' });
});

describe("an archive that is not a backup", () => {
  const good = digestOf("text");
  const rows: Readonly<
    Record<string, { readonly entries: readonly (readonly [string, string])[]; readonly says: string }>
  > = {
    "has no list of files": {
      entries: [["a", "text"]],
      says: "the backup is incomplete: backup.json is missing",
    },
    "has a file twice": {
      entries: [
        ["a", "text"],
        ["a", "text"],
        ["backup.json", manifest({ a: good })],
      ],
      says: "a comes twice",
    },
    "has a file after the list": {
      entries: [
        ["backup.json", manifest({})],
        ["a", "text"],
      ],
      says: "a comes after the list of files",
    },
    "lacks a file of the list": { entries: [["backup.json", manifest({ a: good })]], says: "a is missing" },
    "has a file that is not in the list": {
      entries: [
        ["a", "text"],
        ["backup.json", manifest({})],
      ],
      says: "a is not in the list of files",
    },
    "has a file of another content": {
      entries: [
        ["a", "texT"],
        ["backup.json", manifest({ a: good })],
      ],
      says: "digest mismatch of a",
    },
    "has a file of another size": {
      entries: [
        ["a", "text"],
        ["backup.json", manifest({ a: { ...good, size: 5 } })],
      ],
      says: "digest mismatch of a",
    },
    "has another format": {
      entries: [["backup.json", manifest({}, { format: 2 })]],
      says: "it has format 2, and this version of Purlin reads format 1",
    },
    "has a list that is a list": {
      entries: [["backup.json", "[]"]],
      says: "it has format undefined, and this version of Purlin reads format 1",
    },
    "has a time that is too long": {
      entries: [["backup.json", manifest({}, { created: "x".repeat(65) })]],
      says: "backup.json is malformed",
    },
    "has no number of objects": {
      entries: [["backup.json", manifest({}, { objects: "42" })]],
      says: "backup.json is malformed",
    },
    "lists a file without a digest": {
      entries: [["backup.json", manifest({ a: { size: 1 } })]],
      says: 'backup.json is malformed at "a"',
    },
    "lists a file outside": {
      entries: [["backup.json", manifest({ "../a": good })]],
      says: 'backup.json is malformed at "../a"',
    },
  };
  for (const [name, { entries, says }] of Object.entries(rows)) {
    test(`is refused when it ${name}`, async () => {
      using folder = tempFolder();
      await assert.rejects(readAll(await archive(folder, entries)), { message: says });
    });
  }

  test("is refused for names that leave the folder or that a terminal acts on", async () => {
    for (const name of ["/etc/passwd", "../a", "a/../b", "./a", "a//b", "a\\b", "a\u0007", "a\n"]) {
      using folder = tempFolder();
      const received: string[] = [];
      const path = await archive(folder, [[name, "x"]]);
      const reading = readBackup(
        path,
        async ({ name: got, content }) => {
          received.push(got);
          await skip(content);
        },
        signal,
      );
      await assert.rejects(reading, { message: `unexpected entry ${JSON.stringify(name)}` });
      assert.deepEqual(received, []);
    }
  });
});

test("sizes are in KiB below one MiB, and at least one", () => {
  const sizes: readonly (readonly [bytes: number, text: string])[] = [
    [0, "1 KiB"],
    [1, "1 KiB"],
    [1536, "2 KiB"],
    [1024 * 1000, "1000 KiB"],
    [1024 * 1024, "1.0 MiB"],
    [1.55 * 1024 * 1024, "1.6 MiB"],
    [5000 * 1024 * 1024, "5000.0 MiB"],
  ];
  for (const [bytes, text] of sizes) assert.equal(sizeText(bytes), text, String(bytes));
});
