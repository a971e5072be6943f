// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { isFatal, RunFunctionResponse, toJson } from "@purlin/function-protocol";
import { type TlsSource, tlsFromDirectory } from "@purlin/function-runner";
import type { CommandInput } from "../commands/command-spec.ts";
import { printYaml } from "../files/print-yaml.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { textOf, UserError } from "../user-error.ts";
import { adviceOn } from "./call-advice.ts";
import { type CallOutcome, callFunction } from "./call-function.ts";
import { type CallOptions, readCallOptions } from "./call-options.ts";
import { probeTarget } from "./probe-target.ts";
import { readRequest } from "./read-request.ts";
import { fetchersFromFiles } from "./requirement-files.ts";

/** `purlin function call`: everything is read and checked before anything is sent. */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
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
  io.stdout.write(printYaml(toJson(RunFunctionResponse, outcome.response)));
  tellRounds(outcome, io);
}

function openTls({ tlsCertsDir }: CallOptions, io: Io): TlsSource | "plaintext" {
  if (tlsCertsDir === undefined) return "plaintext";
  try {
    return tlsFromDirectory(resolve(io.cwd, tlsCertsDir));
  } catch (error) {
    throw new UserError(`--tls-certs-dir: ${textOf(error)}`, { cause: error });
  }
}

/** What the runner rejects with is meant for people already; what to do about it depends on who asks. */
async function orUserError<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new UserError(`${textOf(error)}${adviceOn(error)}`, { cause: error });
  }
}

function tellRounds({ response, rounds }: CallOutcome, io: Io): void {
  const style = createStyle(io.stderr, io.env);
  io.stderr.write(`${style.faint(rounds.length === 1 ? "1 round" : `${rounds.length} rounds`)}\n`);
  if (isFatal(response))
    io.stderr.write(`${style.doubtful("a fatal result")}: a pipeline would stop here and apply nothing\n`);
}
