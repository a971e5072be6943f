// SPDX-License-Identifier: Apache-2.0

import cluster, { type Worker } from "node:cluster";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "@purlin/base";
import {
  closeInheritedDescriptors,
  isWorkerMessage,
  type Launch,
  type LaunchEvents,
  Supervisor,
  type SupervisorObserver,
  workerProgram,
} from "@purlin/function-process";
import { commandName } from "../command-name.ts";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";

/** Longer than a function gives its calls to finish. */
const stopLimitMs = 8_000;

/** Options that go to the function as they are. */
const passedOn = {
  address: "--address",
  network: "--network",
  tlsCertsDir: "--tls-certs-dir",
  maxRecvMessageSize: "--max-recv-message-size",
  maxSendMessageSize: "--max-send-message-size",
  ttl: "--ttl",
} as const;

/** No timeouts: a debugger may be attached. */
const startLimitMs = 10 * 60_000;

/** `purlin function run FILE` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const [file = ""] = input.args;
  checkFile(file, io);
  const security = securityOf(input, io);
  const gaveUp = Promise.withResolvers<never>();
  const observer = createObserver({ file, security, io, giveUp: gaveUp.reject });
  const path = resolve(io.cwd, file);
  const supervisor = new Supervisor({
    launch: createClusterLaunch(path, functionFlags(input, io)),
    file: path,
    // The listening socket is ours, and each process finishes its own calls in flight: there is nothing to wait for.
    answers: () => Promise.resolve(),
    released: () => Promise.resolve(),
    startLimitMs,
    clock: systemClock,
    observer,
  });
  try {
    await Promise.race([aborted(io.signal), gaveUp.promise]);
  } finally {
    await supervisor.stop();
  }
}

function checkFile(file: string, io: Io): void {
  const path = resolve(io.cwd, file);
  if (!existsSync(path)) throw new UserError(`cannot run ${file}: no such file: check the path`);
  if (!statSync(path).isFile())
    throw new UserError(`cannot run ${file}: not a regular file: specify the file that exports the function`);
  if (!/\.[cm]?[jt]s$/.test(file))
    throw new UserError(
      `cannot run ${file}: not a TypeScript or JavaScript file: specify the file that exports the function`,
    );
}

/** The flag with which the function is called, which says how it is served. */
function securityOf(input: CommandInput, io: Io): string {
  if (isSet(input, "insecure")) return "--insecure";
  const directory = textOption(input, "tlsCertsDir") ?? io.env["TLS_SERVER_CERTS_DIR"];
  if (directory) return `--tls-certs-dir ${directory}`;
  throw new UserError(
    `specify how to serve: --insecure for plaintext on this machine, or --tls-certs-dir DIR for mutual TLS ("${commandName(io.env)} function certs DIR" creates one)`,
    { exitCode: 2 },
  );
}

function functionFlags(input: CommandInput, { env }: Pick<Io, "env">): string[] {
  const flags = Object.entries(passedOn).flatMap(([name, flag]) => {
    const value = textOption(input, name);
    return value === undefined ? [] : [`${flag}=${value}`];
  });
  if (textOption(input, "address") === undefined) {
    flags.push(`--address=${env["KUBERNETES_SERVICE_HOST"] ? "" : "localhost"}:9443`);
  }
  // Two functions under development would otherwise quarrel over the port for metrics.
  flags.push(`--metrics-address=${textOption(input, "metricsAddress") ?? ""}`);
  if (isSet(input, "insecure")) flags.push("--insecure");
  if (isSet(input, "debug")) flags.push("--debug");
  return flags;
}

interface Scene {
  readonly file: string;
  readonly security: string;
  readonly io: Io;
  readonly giveUp: (error: UserError) => void;
}

function createObserver({ file, security, io, giveUp }: Scene): SupervisorObserver {
  const good = createStyle(io.stdout, io.env);
  const bad = createStyle(io.stderr, io.env);
  const waiting = bad.faint("Save the file to retry.");
  let welcomed = false;
  return {
    serving({ address, startMs }) {
      io.stdout.write(
        welcomed ? `Reloaded ${file} in ${startMs} ms.\n` : welcome({ file, security, address, io }, good),
      );
      welcomed = true;
    },
    failed({ text, setup, lastGood }) {
      if (setup && !lastGood) return giveUp(new UserError(text));
      const rest = lastGood ? bad.faint("The last working version keeps serving.") : waiting;
      io.stderr.write(`${bad.bad("error:")} ${harmless(text)}\n${rest}\n`);
    },
    died(text) {
      io.stderr.write(`${bad.bad("error:")} ${harmless(text)}\n${waiting}\n`);
    },
    output: (stream, text) => io[stream].write(text),
  };
}

function welcome(at: { file: string; security: string; address: string; io: Io }, style: Style): string {
  const { file, security, io } = at;
  // A path is a socket; an address of this machine has a name that certificates know.
  const target = /:\d+$/.test(at.address)
    ? at.address.replace(/^(\[::1?\]|0\.0\.0\.0|127\.0\.0\.1):/, "localhost:")
    : `unix:${at.address}`;
  const request = existsSync(resolve(io.cwd, "request.yaml")) ? "request.yaml" : "REQUEST.yaml";
  const call = `${commandName(io.env)} function call --target ${target} ${security} --request ${request}`;
  const how = security === "--insecure" ? "plaintext" : "mutual TLS";
  return `${style.good("Serving")} ${file} on ${style.strong(target)} (${how}). Call it from another terminal:

  ${style.code(call)}

${style.faint("It reloads when you save the file. Press Ctrl-C to stop.")}
`;
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve: done } = Promise.withResolvers<void>();
  if (signal.aborted) done();
  signal.addEventListener("abort", () => done(), { once: true });
  return promise;
}

/**
 * Starts versions of a function that all serve at one address. The listening socket belongs to this process (node:cluster
 * shares it), so no connection is refused while versions change. `flags` are those of functions, as their own command
 * line takes them.
 */
function createClusterLaunch(file: string, flags: readonly string[]): Launch {
  cluster.setupPrimary({ exec: workerProgram(), args: [file, ...flags], silent: true });
  return (events) => {
    closeInheritedDescriptors();
    const worker = cluster.fork();
    for (const stream of ["stdout", "stderr"] as const) {
      worker.process[stream]?.setEncoding("utf8").on("data", (text: string) => events.output(stream, text));
    }
    reportListening(worker, events);
    worker.on("exit", (code, signal) => events.ended(signal ?? `exit code ${code}`));
    // A message to a worker that has just ended fails too; its exit is reported.
    worker.on("error", (error) => {
      if (worker.process.pid === undefined) events.ended(`it could not be started: ${error.message}`);
    });
    return {
      stop: () => endWorker(worker),
      kill() {
        takeNoMoreConnections(worker);
        worker.process.kill("SIGKILL");
      },
    };
  };
}

function reportListening(worker: Worker, events: LaunchEvents): void {
  let loaded = false;
  worker.on("message", (message: unknown) => {
    if (!isWorkerMessage(message)) return;
    loaded ||= message.type === "loaded";
    // The user chose the address: another start would find it taken, too.
    const isTaken = message.type === "failed" && message.reason === "port taken";
    events.message(isTaken ? { ...message, reason: "setup" } : message);
  });
  // A file that serves by itself never gets to export anything; that it listens is how we know.
  worker.on("listening", ({ port, address }) => {
    if (!loaded) events.message({ type: "serving", address: port > 0 ? `localhost:${port}` : String(address) });
  });
}

/**
 * Sends all further connections to other versions, at once. A worker that gets a signal closes its socket when it comes to it,
 * and on a busy machine would still answer calls that were made after the next version was announced.
 */
function takeNoMoreConnections(worker: Worker): void {
  worker.disconnect();
}

async function endWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const ended = Promise.withResolvers<void>();
  worker.once("exit", () => ended.resolve());
  takeNoMoreConnections(worker);
  worker.process.kill("SIGTERM");
  const limit = setTimeout(() => worker.process.kill("SIGKILL"), stopLimitMs);
  await ended.promise;
  clearTimeout(limit);
}
