// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ApiListener, type ApiServer, isStoreError, startApiServer } from "@purlin/kube-apiserver";
import type { CommandInput } from "../commands/command-spec.ts";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** `purlin apiserver --data-dir DIR [--port N]` */
export async function run({ options }: CommandInput, io: Io): Promise<undefined> {
  const directory = resolve(io.cwd, String(options["dataDir"]));
  const port = readPort(options["port"]);
  const server = await start(directory, io);
  try {
    const listener = await listen(server, { directory, port, io });
    const kubeconfig = join(directory, "kubeconfig");
    await replaceFile(kubeconfig, listener.kubeconfig);
    io.stdout.write(greeting(listener.url, kubeconfig));
    await untilStopped(io.signal);
    io.stdout.write("Stopping.\n");
  } finally {
    await server.close();
  }
}

function readPort(value: unknown): number {
  const port = value === undefined ? 0 : Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new UserError(`--port ${String(value)}: expected a whole number from 0 (any free one) to 65535`, {
    exitCode: 2,
  });
}

async function start(directory: string, io: Io): Promise<ApiServer> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return await startApiServer({
      directory,
      onWarning: (text) => io.stderr.write(`warning: ${text}\n`),
      onUnexpected: (error, { method, path }) => io.stderr.write(`error: ${method} ${path}: ${textOf(error)}\n`),
      onControllerError: (error) => io.stderr.write(`error: ${textOf(error)}; it will be tried again\n`),
    });
  } catch (error) {
    if (isStoreError(error) || isFileError(error))
      throw new UserError(`--data-dir ${directory}: ${textOf(error)}`, { cause: error });
    throw error;
  }
}

const isFileError = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException)?.syscall === "string";

interface Place {
  readonly directory: string;
  readonly port: number;
  readonly io: Io;
}

/** Listens on the port asked for, else on that of the last time, else on any: clients keep their kubeconfig. */
async function listen(server: ApiServer, { directory, port, io }: Place): Promise<ApiListener> {
  const file = join(directory, "port");
  if (port !== 0) return listenOn(server, port);
  const last = Number(await readFile(file, "utf8").catch(() => "0"));
  const listener = await server.listen({ port: Number.isInteger(last) ? last : 0 }).catch((error: unknown) => {
    if (last === 0) throw error;
    io.stderr.write(`warning: port ${last} of the last time is taken; using another, so read the kubeconfig again\n`);
    return server.listen({ port: 0 });
  });
  if (listener.port !== last) await replaceFile(file, `${listener.port}\n`);
  return listener;
}

async function listenOn(server: ApiServer, port: number): Promise<ApiListener> {
  try {
    return await server.listen({ port });
  } catch (error) {
    throw new UserError(`--port ${port}: ${textOf(error)}; choose another, or none for any free one`, { cause: error });
  }
}

/** Written beside and moved over, so that nobody ever reads half a file. */
async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  await writeFile(partial, text, { mode: 0o600 });
  await rename(partial, path);
}

function greeting(url: string, kubeconfig: string): string {
  return `Kubernetes API server at ${url}

It stores workloads but runs no Pods. Stop it with Ctrl-C; what it stored stays.

  kubectl --kubeconfig ${kubeconfig} api-resources
`;
}

function untilStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve: stop } = Promise.withResolvers<void>();
  // A listening server keeps the process alive; this waits for the word to stop.
  signal.addEventListener("abort", () => stop(), { once: true });
  return promise;
}
