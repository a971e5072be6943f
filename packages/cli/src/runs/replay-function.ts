// SPDX-License-Identifier: Apache-2.0

import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isWorkerMessage, workerProgram } from "@purlin/function-process";
import type { RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import {
  createDiallingRunner,
  developmentOf,
  readRevision,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { RunStepMessages } from "@purlin/run-store";
import type { Cluster } from "../cluster/cluster-client.ts";
import { startSources } from "../diff/diff-functions.ts";
import { prepareImages } from "../diff/diff-images.ts";
import { type FunctionOverride, readOverride } from "../diff/diff-input.ts";
import { parseTarget } from "../function-call/probe-target.ts";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { currentDataDir } from "../project/project-file.ts";
import { UserError } from "../user-error.ts";

/** A function to replay a request on. */
interface ReplayFunction extends AsyncDisposable {
  /** Its revision; undefined for a function that the user named. */
  readonly revision?: string | undefined;
  call(request: RunFunctionRequest, deadline: number): Promise<RunFunctionResponse>;
}

interface Opening {
  readonly input: CommandInput;
  readonly io: Io;
  readonly cluster: Cluster | undefined;
}

/** Opens the function of --with, or the one that serves the step in the control plane now. */
export async function openReplayFunction(step: RunStepMessages, opening: Opening): Promise<ReplayFunction> {
  const { input, io } = opening;
  const source = textOption(input, "with");
  if (source === undefined) return openServing(step, opening);
  const override = packageOf(step.function, source, io);
  if (override !== undefined) return openPackage(override, opening);
  if (existsSync(resolve(io.cwd, source))) return openFile(source, opening);
  if (/\.[cm]?[jt]s$/.test(source)) throw new UserError(`--with ${source}: no such file`, { exitCode: 2 });
  try {
    return openAddress({ endpoint: parseTarget(source).text, security: "plaintext" }, io);
  } catch {
    throw new UserError(
      `--with ${source}: expected a TypeScript or JavaScript file, a package file (x.xpkg), an image (registry/name:tag), revision:NAME, host:port or unix:path`,
      { exitCode: 2 },
    );
  }
}

/** A package file, an image or an installed revision; undefined for any other source. */
function packageOf(name: string, source: string, io: Io): FunctionOverride | undefined {
  if (source.startsWith("unix:")) return undefined;
  try {
    const override = readOverride(`${name}=${source}`, io);
    return override.kind === "image" || override.kind === "revision" ? override : undefined;
  } catch (error) {
    if (source.endsWith(".xpkg")) throw error;
    return undefined;
  }
}

/** Runs the function of a package on this machine, as previews do. */
async function openPackage(override: FunctionOverride, { input, io, cluster }: Opening): Promise<ReplayFunction> {
  if (isSet(input, "inspectBrk"))
    throw new UserError("--inspect-brk: a debugger needs a source file: specify one with --with", { exitCode: 2 });
  await using opening = new AsyncDisposableStack();
  const [spec] = (await prepareImages([override], { input, io, cluster, opening })).values();
  if (spec === undefined) throw new Error(`${override.source}: nothing to run`);
  const { processes, security } = await startSources(io, opening);
  const { endpoint } = await processes.run(spec).served(io.signal);
  const opened = opening.use(openAddress({ endpoint, security, revisionName: override.name }, io));
  const closing = opening.move();
  const revision = override.kind === "revision" ? override.source : undefined;
  return { call: opened.call, revision, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** The Function or FunctionRevision that the step names, as the control plane has it now. */
async function openServing(step: RunStepMessages, opening: Opening): Promise<ReplayFunction> {
  const { cluster, io, input } = opening;
  if (cluster === undefined) {
    throw new UserError("specify the function with --with: without a control plane it is not known", { exitCode: 2 });
  }
  const { client } = cluster;
  const type = (kind: string) => ({ apiVersion: "pkg.crossplane.io/v1", kind });
  const { signal } = io;
  const fn = await ignoreNotFound(client.get(type("Function"), { name: step.function }, { signal }));
  const development = fn && developmentOf(fn as JsonObject);
  if (development?.kind === "source") return openFile(development.path, opening);
  if (development?.kind === "target") return openAddress({ endpoint: development.endpoint, security: "plaintext" }, io);
  const labelSelector = `pkg.crossplane.io/package=${step.function}`;
  const { items } = await client.list(type("FunctionRevision"), { labelSelector, signal });
  const revisions = items.map((one) => readRevision(one as JsonObject)).filter(({ endpoint }) => endpoint !== "");
  const [same] = revisions.filter(({ name }) => name === step.revision);
  const found = same ?? revisions.toSorted((a, b) => b.number - a.number)[0];
  if (found === undefined) {
    throw new UserError(`Function "${step.function}" has no revision that can be called: specify one with --with`);
  }
  const certificates = tlsFromDirectory(join(currentDataDir(input, io), "function-client"));
  const { endpoint, name: revisionName } = found;
  return { ...openAddress({ endpoint, security: certificates, revisionName }, io), revision: revisionName };
}

/** Where a function answers. */
interface FunctionAddress {
  readonly endpoint: string;
  readonly security: TlsSource | "plaintext";
  /** By which its certificate is known; its endpoint unless given. */
  readonly revisionName?: string | undefined;
}

function openAddress({ endpoint, security, revisionName = endpoint }: FunctionAddress, io: Io): ReplayFunction {
  const { signal, names } = io;
  const dialling = createDiallingRunner({ security, names });
  const target = { functionName: endpoint, revisionName, packageRef: "", endpoint, revision: 0 };
  return {
    call: (request, deadline) => dialling.run(target, request, { deadline, signal }),
    async [Symbol.asyncDispose]() {
      dialling.close();
    },
  };
}

/** Runs a source file in a process of its own, with a debugger if that is asked for. */
async function openFile(file: string, { input, io }: Opening): Promise<ReplayFunction> {
  const execArgv = isSet(input, "inspectBrk") ? ["--inspect-brk=127.0.0.1:0"] : [];
  const flags = ["--address=127.0.0.1:0", "--insecure", "--metrics-address="];
  const child = fork(workerProgram(), [resolve(io.cwd, file), ...flags], {
    cwd: io.cwd,
    execArgv,
    env: { ...io.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  for (const output of [child.stdout, child.stderr]) {
    output?.setEncoding("utf8").on("data", (text: string) => io.stderr.write(harmless(text)));
  }
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((end) => child.once("exit", end));
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const address = await new Promise<string>((served, failed) => {
      child.on("message", (message) => {
        if (!isWorkerMessage(message)) return;
        if (message.type === "serving") served(message.address);
        if (message.type === "failed") failed(new UserError(`cannot run ${file}: ${message.text}`));
      });
      child.once("exit", (code) => failed(new UserError(`cannot run ${file}: it ended with code ${code}`)));
      io.signal.addEventListener("abort", () => failed(io.signal.reason), { once: true });
    });
    const opened = openAddress({ endpoint: address, security: "plaintext" }, io);
    return {
      call: opened.call,
      async [Symbol.asyncDispose]() {
        await opened[Symbol.asyncDispose]();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
