// SPDX-License-Identifier: Apache-2.0
// The process of another user: it drops its privileges first, then runs the requested attempts.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { compiledCodeFolder } from "../../../../packages/cli/src/compiled/load-compiled.ts";
import { folderRisk } from "../../../../packages/cli/src/files/own-folder.ts";
import { secureDataDir } from "../../../../packages/cli/src/project/secure-data-dir.ts";

/** What another user may try. */
export type Attack =
  | { readonly kind: "read" | "list" | "mkdir" | "remove"; readonly path: string }
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "link" | "rename"; readonly from: string; readonly to: string }
  | { readonly kind: "request"; readonly url: string; readonly method?: string; readonly authorization?: string }
  /** Takes a port, and records the requests. The response to each is a 401 that asks for a password. */
  | { readonly kind: "listen"; readonly port: number }
  | { readonly kind: "received" | "hangUp" }
  /** What Purlin would say if this user ran it. */
  | { readonly kind: "folderRisk" | "secureDataDir"; readonly path: string }
  | { readonly kind: "compiledCodeFolder"; readonly env: Readonly<Record<string, string>> };

/** What came of it. */
export type Outcome = { readonly value: unknown } | { readonly error: string };

const received: string[] = [];
let server: Server | undefined;

const challenge =
  'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="mine"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

function listen(port: number): Promise<number> {
  const made = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (data) => {
        received.push(data.toString("latin1"));
        socket.end(challenge);
      });
  });
  server = made;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  made.once("error", reject).listen(port, "127.0.0.1", () => resolve((made.address() as { port: number }).port));
  return promise;
}

async function request({ url, method = "GET", authorization }: Extract<Attack, { kind: "request" }>): Promise<string> {
  const body = method === "PUT" || method === "POST" ? "{}" : undefined;
  const headers = authorization === undefined ? {} : { authorization };
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  return `${response.status} ${(await response.text()).slice(0, 200)}`;
}

async function carryOut(attack: Attack): Promise<unknown> {
  switch (attack.kind) {
    case "read":
      return readFileSync(attack.path, "latin1").slice(0, 200);
    case "list":
      return readdirSync(attack.path);
    case "mkdir":
      return mkdirSync(attack.path);
    case "remove":
      return rmSync(attack.path, { recursive: true });
    case "write":
      return writeFileSync(attack.path, attack.text);
    case "link":
      return symlinkSync(attack.to, attack.from);
    case "rename":
      return renameSync(attack.from, attack.to);
    case "request":
      return request(attack);
    case "listen":
      return listen(attack.port);
    case "received":
      return received.splice(0);
    case "hangUp":
      return new Promise((resolve) => server?.close(() => resolve(undefined)));
    case "folderRisk":
      return folderRisk(attack.path) ?? "";
    case "secureDataDir":
      return secureDataDir(attack.path);
    case "compiledCodeFolder":
      return compiledCodeFolder(attack.env) ?? "";
  }
}

process.on("message", ({ id, attack }: { id: number; attack: Attack }) => {
  carryOut(attack).then(
    (value) => process.send?.({ id, outcome: { value } }),
    // The code of the system where it refused; our own refusals are known by their text.
    (error: NodeJS.ErrnoException) =>
      process.send?.({ id, outcome: { error: error.errno === undefined ? error.message : error.code } }),
  );
});

const uid = Number(process.argv[2]);
process.setgroups?.([]);
process.setgid?.(uid);
process.setuid?.(uid);
process.umask(0o022);
process.send?.("ready");
