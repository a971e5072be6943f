// SPDX-License-Identifier: Apache-2.0
// A function that runs the attempts of its input and composes a ConfigMap of the results.
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import process from "node:process";
import { type RunFunction, request, response } from "@purlin/function-sdk";

/** One thing to try. */
interface Attempt {
  readonly does: "read" | "open" | "list" | "signal" | "reach" | "fill";
  readonly target: string;
}

const tries: Record<Attempt["does"], (target: string) => unknown> = {
  read: (path) => `read ${readFileSync(path).length} bytes`,
  // Opened for writing only: what must not be written to is not written to by a test either.
  open: (path) => {
    closeSync(openSync(path, "r+"));
    return "opened";
  },
  list: (path) => readdirSync(path).join(" "),
  signal: (pid) => process.kill(Number(pid), 0),
  reach: (place) => reach(place),
  fill: (folder) => fill(folder),
};

function reach(place: string): Promise<string> {
  const at = place.startsWith("/") ? { path: place } : { host: place.split(":")[0], port: Number(place.split(":")[1]) };
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(at as { path: string });
  socket
    .once("connect", () => resolve("connected"))
    .once("error", ({ code }: NodeJS.ErrnoException) => resolve(code ?? "?"));
  return promise.finally(() => socket.destroy());
}

const limitMiB = 512;

/** Writes until it is refused. */
function fill(folder: string): string {
  const chunk = Buffer.alloc(1024 * 1024, 1);
  for (let at = 0; at < limitMiB; at++) {
    try {
      writeFileSync(`${folder}/hostile-${at}`, chunk);
    } catch (error) {
      return `${(error as NodeJS.ErrnoException).code} after ${at} MiB`;
    }
  }
  return `wrote ${limitMiB} MiB`;
}

async function outcome({ does, target }: Attempt): Promise<string> {
  try {
    return String(await tries[does](target));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

const hostile: RunFunction = async (req) => {
  const rsp = response.to(req);
  const { attempts = {} } = (request.getInput(req) ?? {}) as { attempts?: Record<string, Attempt> };
  const data: Record<string, string> = {
    pid: String(process.pid),
    keys: readFileSync("/tls/server/tls.key", "utf8").slice(0, 27),
  };
  for (const [name, attempt] of Object.entries(attempts)) data[name] = await outcome(attempt);
  response.setDesiredComposedResource(rsp, "outcome", { apiVersion: "v1", kind: "ConfigMap", data }, { ready: true });
  return rsp;
};

export default hostile;
