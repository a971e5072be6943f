// SPDX-License-Identifier: Apache-2.0
// Files that harm a program that reads them as manifests.
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";

/** A file that must be refused. */
export interface HostileFile {
  readonly make: (path: string) => void | Promise<void>;
  /** What a command says about it. */
  readonly says: RegExp;
  /** Whether any command refuses it, whatever it expects to find there; otherwise only those that read text. */
  readonly isOfAnyKind: boolean;
}

const listening = new Set<ReturnType<typeof createServer>>();

/** Ends the sockets that were made. */
export function closeSockets(): void {
  for (const server of listening) server.close();
}

function socket(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    listening.add(server);
    server.listen(path, resolve);
  });
}

const anyKind = (make: HostileFile["make"], says: RegExp): HostileFile => ({ make, says, isOfAnyKind: true });
const text = (bytes: string | Uint8Array, says: RegExp): HostileFile => ({
  make: (path) => writeFileSync(path, bytes),
  says,
  isOfAnyKind: false,
});
const device = (name: string): HostileFile =>
  anyKind((path) => symlinkSync(`/dev/${name}`, path), /it is a device, not a regular file/);

function bomb(last: string): string {
  const lines = ["a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]"];
  for (let at = 1; at < 10; at += 1)
    lines.push(
      `a${at}: &a${at} [${Array(10)
        .fill(`*a${at - 1}`)
        .join(",")}]`,
    );
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n${lines.join("\n")}\ndata: ${last}\n`;
}

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
const tooMuch = /:\d+:\d+: aliases \(\*\) expand to more than 16 MiB or refer to themselves/;

/** Each by what it is. */
export const hostileFiles: Readonly<Record<string, HostileFile>> = {
  "a FIFO": anyKind((path) => void execFileSync("mkfifo", [path]), /it is a named pipe \(FIFO\), not a regular file/),
  "a link to a FIFO": anyKind((path) => {
    execFileSync("mkfifo", [`${path}.fifo`]);
    symlinkSync(`${path}.fifo`, path);
  }, /it is a named pipe \(FIFO\)|outside of/),
  "a socket": anyKind(socket, /it is a socket, not a regular file/),
  "a folder": anyKind((path) => void mkdirSync(path), /it is a folder|is not a regular file/),
  "a link to /dev/zero": device("zero"),
  "a link to /dev/random": device("random"),
  "a link to /dev/full": device("full"),
  "a link to /dev/tty": device("tty"),
  "a link to itself": anyKind(
    (path) => symlinkSync(path, path),
    /too many (levels of )?symbolic links|ELOOP|there is no |no such |does not exist|not found/,
  ),
  "a circle of links": anyKind((path) => {
    symlinkSync(`${path}.b`, path);
    symlinkSync(path, `${path}.b`);
  }, /too many (levels of )?symbolic links|ELOOP|there is no |no such |does not exist|not found/),
  "a sparse file of 8 GiB": anyKind((path) => {
    writeFileSync(path, "");
    truncateSync(path, 8 * 1024 ** 3);
  }, /it has 8 GiB; the limit is /),
  "a file that says it is empty, and is not": {
    make: (path) => symlinkSync("/proc/self/status", path),
    says: /it grew while it was read/,
    isOfAnyKind: false,
  },
  "an alias bomb": text(bomb("*a9"), tooMuch),
  "an alias bomb in a list": text(bomb("[*a9, *a9]"), tooMuch),
  "an alias that stands for itself": text(`${head}data: &d {more: *d}\n`, tooMuch),
  "a long text a million times": text(
    `${head}a: &a "${"x".repeat(200_000)}"\ndata: [${Array(50_000).fill("*a").join(",")}]\n`,
    tooMuch,
  ),
  "a bomb of merge keys": text(
    `${head}b: &b {${Array.from({ length: 500 }, (_, at) => `k${at}: 1`).join(", ")}}\nc:\n${"- <<: *b\n".repeat(100)}`,
    /:\d+:\d+: merge keys \(<<\) add more than 10000 members/,
  ),
  "brackets without end": text(`${head}data: ${"[".repeat(200_000)}`, /:\d+:\d+: nested deeper than 1000 levels/),
  "maps without end": text(`${head}data: ${"{a: ".repeat(50_000)}`, /:\d+:\d+: nested deeper than 1000 levels/),
  "one value of 9 MiB": text(
    `${head}data: ${"x".repeat(9 * 1024 * 1024)}`,
    /:\d+:\d+: the document is larger than 8 MiB/,
  ),
  "too many documents": text("--- 1\n".repeat(100_001), /more than 100000 documents|expected/),
  "UTF-16": text(Buffer.from(`\ufeff${head}`, "utf16le"), /it is encoded as UTF-16: save it as UTF-8/),
  "Latin-1": text(Buffer.from(`${head}data: {a: "\xfc"}\n`, "latin1"), /line 4 is not valid UTF-8/),
  "half a character": text(Buffer.concat([Buffer.from(head), Buffer.from([0xe2, 0x82])]), /line 4 is not valid UTF-8/),
  "a NUL": text(`${head}data: {a: "\0"}\n`, /:4:\d+: invalid YAML: null byte/),
  "control characters": text(`${head}data: {a: "\u0007\u001b[2J"}\n`, /:4:\d+: invalid YAML/),
  noise: text(
    Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 197 + 131) & 0xff)),
    /line \d+ is not valid UTF-8/,
  ),
};
