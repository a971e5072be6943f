// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { isFatal, isProtocolError, RunFunctionResponse, toJson } from "@purlin/function-protocol";
import {
  type CrossplaneLine,
  crossplaneLines,
  isRunnerError,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, readTimeout, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { createStyle } from "../terminal/style.ts";
import { textOf, UserError } from "../user-error.ts";
import { type CallOutcome, callFunction, type RequestFiles, readRequest } from "./call-function.ts";
import { parseTarget, probeTarget, type Target } from "./probe-target.ts";
import { fetchersFromFiles, type RequirementPaths } from "./requirement-files.ts";

/** The command line of `purlin function call`, understood. */
interface CallOptions {
  readonly target: Target;
  /** The folder with our certificates; undefined for plaintext. */
  readonly tlsCertsDir: string | undefined;
  readonly request: RequestFiles;
  readonly paths: RequirementPaths;
  readonly asCrossplane: CrossplaneLine | undefined;
  readonly timeoutMs: number;
}

/** `purlin function call`: everything is read and checked before anything is sent. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["yaml", "json"]);
  const options = readCallOptions(input);
  const request = await readRequest(options.request, io);
  const fetchers = await fetchersFromFiles(options.paths, io);
  const security = openTls(options, io);
  const { target, timeoutMs, asCrossplane } = options;
  const deadline = Date.now() + timeoutMs;
  const tls =
    security === "plaintext" ? undefined : { identity: security.current(), directory: options.tlsCertsDir ?? "" };
  await probeTarget(target, { tls, timeoutMs: Math.min(timeoutMs, 5_000), signal: io.signal });
  const outcome = await orUserError(() =>
    callFunction({ target, security, request, fetchers, asCrossplane, deadline, signal: io.signal }),
  );
  printData(toJson(RunFunctionResponse, outcome.response), output, io);
  printRounds(outcome, io);
}

function openTls({ tlsCertsDir }: CallOptions, io: Io): TlsSource | "plaintext" {
  if (tlsCertsDir === undefined) return "plaintext";
  try {
    return tlsFromDirectory(resolve(io.cwd, tlsCertsDir));
  } catch (error) {
    throw new UserError(`--tls-certs-dir: ${textOf(error)}`, { cause: error });
  }
}

/** What the runner rejects with is meant for people already; what to do about it depends on the command. */
async function orUserError<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new UserError(`${textOf(error)}${adviceOn(error)}`, { cause: error });
  }
}

function printRounds({ response, rounds }: CallOutcome, io: Io): void {
  const style = createStyle(io.stderr, io.env);
  io.stderr.write(`${style.faint(rounds.length === 1 ? "1 round" : `${rounds.length} rounds`)}\n`);
  if (isFatal(response))
    io.stderr.write(`${style.doubtful("a fatal result")}: a pipeline would stop here and apply nothing\n`);
}

/** Advice for an error of the runner, to append to its message. */
export function adviceOn(error: unknown): string {
  if (isProtocolError(error) && error.code === "UNSTABLE_REQUIREMENTS") {
    return ": the function must return the same requirements on every call, also when they are satisfied";
  }
  if (/no matches for kind/.test(textOf(error))) {
    return ": check the spelling, define the kind with --crds, or add an object of it with --required-resources";
  }
  if (!isRunnerError(error)) return "";
  switch (error.status) {
    case "DeadlineExceeded":
      return ": increase --timeout if it needs longer";
    case "Unimplemented":
      return ": the server at that address is not a composition function";
    default:
      return "";
  }
}

/** Reads the options, and refuses those that make no sense together. */
function readCallOptions(input: CommandInput): CallOptions {
  return {
    target: parseTarget(textOption(input, "target") ?? ""),
    tlsCertsDir: securityOf(input),
    request: { request: textOption(input, "request"), xr: textOption(input, "xr") },
    paths: {
      requiredResources: textOption(input, "requiredResources"),
      crds: textOption(input, "crds"),
      openapi: textOption(input, "openapi"),
    },
    asCrossplane: releaseLine(textOption(input, "asCrossplane")),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? ""),
  };
}

function releaseLine(text: string | undefined): CrossplaneLine | undefined {
  const line = crossplaneLines.find((known) => known === text);
  if (text === line) return line;
  throw new UserError(`--as-crossplane: expected one of ${crossplaneLines.join(", ")}, not "${text}"`, { exitCode: 2 });
}

function securityOf(input: CommandInput): string | undefined {
  const directory = textOption(input, "tlsCertsDir");
  const insecure = isSet(input, "insecure");
  if (insecure && directory !== undefined) {
    throw new UserError("--insecure and --tls-certs-dir are mutually exclusive: use one of them", { exitCode: 2 });
  }
  if (insecure || directory !== undefined) return directory;
  throw new UserError(
    "specify how to connect: --insecure for a function that serves plaintext, or --tls-certs-dir DIR for mutual TLS",
    { exitCode: 2 },
  );
}
