// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { appendFile, open } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import {
  decodeUtf8,
  isUnreadableFile,
  openRegularFile,
  readRegularFile,
  readRegularFileSync,
  readStreamWithin,
} from "./regular-file.ts";

const folder = mkdtempSync(join(tmpdir(), "purlin-files-"));
let server: Server | undefined;
after(() => {
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});
const at = (name: string): string => join(folder, name);
const limits = { maxBytes: 1000 };

const refused: Record<string, { readonly make: (path: string) => void | Promise<void>; readonly says: RegExp }> = {
  Folder: { make: (path) => void mkdirSync(path), says: /^it is a folder: specify a file in it$/ },
  Fifo: { make: (path) => void execFileSync("mkfifo", [path]), says: /^it is a named pipe \(FIFO\), not a regular/ },
  LinkToFifo: {
    make: (path) => {
      execFileSync("mkfifo", [`${path}.fifo`]);
      symlinkSync(`${path}.fifo`, path);
    },
    says: /^it is a named pipe/,
  },
  Socket: {
    make: (path) =>
      new Promise((resolve) => {
        server = createServer().listen(path, () => resolve());
      }),
    says: /^it is a socket, not a regular file: specify a file$/,
  },
  ...Object.fromEntries(
    ["zero", "random", "urandom", "null", "full", "tty", "ptmx"].map((name) => [
      `LinkToDev_${name}`,
      { make: (path: string) => symlinkSync(`/dev/${name}`, path), says: /^it is a device, not a regular file/ },
    ]),
  ),
  LinkToFolder: { make: (path) => symlinkSync(folder, path), says: /^it is a folder/ },
  SparseGigabyte: {
    make: (path) => {
      writeFileSync(path, "");
      truncateSync(path, 1024 ** 3);
    },
    says: /^it has 1 GiB; the limit is 1000 bytes: split it/,
  },
  OneByteTooMany: {
    make: (path) => writeFileSync(path, "x".repeat(1001)),
    says: /^it has 1001 bytes; the limit is 1000/,
  },
  // The kernel says that these have no bytes, and gives some.
  GrowsFromNothing: { make: (path) => symlinkSync("/proc/self/stat", path), says: /^it grew while it was read/ },
};
for (const [name, { make, says }] of Object.entries(refused)) {
  test(`refused: ${name}`, async () => {
    const path = at(name);
    await make(path);
    const isRefused = (error: unknown): boolean => isUnreadableFile(error) && says.test(error.message);
    await assert.rejects(readRegularFile(path, limits), isRefused);
    assert.throws(() => readRegularFileSync(path, limits), isRefused);
    if (name !== "GrowsFromNothing") await assert.rejects(openRegularFile(path, limits), isRefused);
  });
}

const systemErrors: Record<string, { readonly make: (path: string) => void; readonly code: string }> = {
  Missing: { make: () => {}, code: "ENOENT" },
  LinkToItself: { make: (path) => symlinkSync(path, path), code: "ELOOP" },
  LinkToNothing: { make: (path) => symlinkSync(`${path}.gone`, path), code: "ENOENT" },
  LongName: { make: () => {}, code: "ENAMETOOLONG" },
};
for (const [name, { make, code }] of Object.entries(systemErrors)) {
  test(`an error of the system stays as it is: ${name}`, async () => {
    const path = name === "LongName" ? at("n".repeat(300)) : at(name);
    make(path);
    await assert.rejects(readRegularFile(path, limits), { code });
    assert.throws(() => readRegularFileSync(path, limits), { code });
  });
}

test("a file without read permission is refused with EACCES", () => {
  const path = at("private");
  writeFileSync(path, "secret", { mode: 0o600 });
  // Root reads every file, so the program becomes another user then. Any other user owns the file and may not read it either.
  chmodSync(path, process.getuid?.() === 0 ? 0o600 : 0o000);
  chmodSync(folder, 0o755);
  const program = `import { readRegularFileSync } from ${JSON.stringify(new URL("regular-file.ts", import.meta.url).href)};
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(23456); process.setuid(23456); }
    try { readRegularFileSync(${JSON.stringify(path)}, { maxBytes: 10 }); } catch (error) { console.log(error.code); }`;
  // The program gives up its rights itself: another user may not be allowed into the folders above this one.
  const flags = ["--input-type=module", "--eval", program];
  assert.equal(execFileSync(process.execPath, flags, { encoding: "utf8", env: {} }).trim(), "EACCES");
});

test("regular files are read whole, up to the limit, through links too", async () => {
  for (const length of [0, 1, 999, 1000]) {
    const path = at(`plain-${length}`);
    writeFileSync(path, "x".repeat(length));
    symlinkSync(path, `${path}.link`);
    assert.equal((await readRegularFile(`${path}.link`, limits)).length, length);
    assert.equal(readRegularFileSync(path, limits).length, length);
  }
});

test("a file that grows while it is read is refused, and read when it is done", async () => {
  const path = at("growing");
  const large = { maxBytes: 64 * 1024 * 1024 };
  writeFileSync(path, Buffer.alloc(8 * 1024 * 1024, "x"));
  let isGrowing = true;
  const growing = (async () => {
    while (isGrowing) await appendFile(path, "more\n");
  })();
  try {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => readRegularFile(path, large)));
    const reasons = outcomes.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
    assert.ok(reasons.length > 0, "no read met a file that grew");
    for (const reason of reasons) assert.match(reason, /it grew while it was read: try again when it is written$/);
  } finally {
    isGrowing = false;
    await growing;
  }
  const whole = await readRegularFile(path, large);
  await using file = await open(path);
  assert.equal(whole.length, (await file.stat()).size);
});

test("a stream is read up to the limit", async () => {
  assert.equal((await readStreamWithin(Readable.from(["a", Buffer.from("bc")]), limits)).toString(), "abc");
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(100);
    })(),
  );
  await assert.rejects(readStreamWithin(endless, limits), /^UnreadableFileError: it has more; the limit is 1000 bytes/);
});

const texts: Record<string, { readonly bytes: readonly number[] | string; readonly want: string | RegExp }> = {
  Plain: { bytes: "a: ü\n", want: "a: ü\n" },
  Empty: { bytes: "", want: "" },
  ByteOrderMark: { bytes: [0xef, 0xbb, 0xbf, 0x61], want: "a" },
  Utf16Little: { bytes: [0xff, 0xfe, 0x61, 0], want: /^it is encoded as UTF-16: save it as UTF-8$/ },
  Utf16Big: { bytes: [0xfe, 0xff, 0, 0x61], want: /^it is encoded as UTF-16/ },
  Latin1: { bytes: [0x61, 0x0a, 0x62, 0xfc, 0x0a], want: /^line 2 is not valid UTF-8: save the file as UTF-8$/ },
  CutOff: { bytes: [0x61, 0x0a, 0x0a, 0xe2, 0x82], want: /^line 3 is not valid UTF-8/ },
  TooLongForm: { bytes: [0xc0, 0xaf], want: /^line 1 is not valid UTF-8/ },
  Surrogate: { bytes: [0xed, 0xa0, 0x80], want: /^line 1 is not valid UTF-8/ },
  BeyondUnicode: { bytes: [0xf4, 0x90, 0x80, 0x80], want: /^line 1 is not valid UTF-8/ },
};
for (const [name, { bytes, want }] of Object.entries(texts)) {
  test(`text of a file: ${name}`, () => {
    const buffer = typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes);
    if (typeof want === "string") assert.equal(decodeUtf8(buffer), want);
    else
      assert.throws(
        () => decodeUtf8(buffer),
        (error) => isUnreadableFile(error) && want.test(error.message),
      );
  });
}
