// SPDX-License-Identifier: Apache-2.0
// The process of one version of a function, started by the supervisor: worker.ts FILE FLAGS…
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { FunctionHandler } from "@purlin/function-sdk";
import { saysPortTaken } from "../spawn/port-taken.ts";
import type { FailureReason, WorkerMessage } from "../spawn/supervision.ts";
import { describeLoadError, findHandler, relativeTo } from "./function-module.ts";

const isDebugged = process.execArgv.some((flag) => flag.startsWith("--inspect-brk"));
const [file = "", ...flags] = process.argv.slice(2);

// A file that serves by itself reads its flags from where it expects them.
process.argv.splice(1, process.argv.length, file, ...flags);
// Ctrl-C in a terminal reaches this process too; the supervisor decides when it ends.
process.on("SIGINT", () => {});

registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) {
      void send({ type: "module", file: fileURLToPath(url) });
    }
    return nextLoad(url, context);
  },
});

await run();

async function run(): Promise<void> {
  let module: object;
  if (!existsSync(file)) return fail(`${relativeTo(process.cwd(), file)}: file not found`, "code");
  try {
    module = (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    return fail(describeLoadError(error, process.cwd(), file), "code");
  }
  const handler = findHandler(module);
  if (typeof handler === "string") return fail(`${relativeTo(process.cwd(), file)}: ${handler}`, "code");
  await send({ type: "loaded" });
  const { newLogger, parseFlags, start } = await import("@purlin/function-sdk");
  try {
    // biome-ignore lint/style/noProcessEnv: a program of its own, which takes the environment variables of functions
    const { options } = parseFlags({ argv: flags, env: process.env });
    const log = newLogger({ debug: true, write: options.debug === true ? writeLine : writeLineForAuthors });
    const running = await start(isDebugged ? stopping(handler) : handler, { ...options, log });
    process.once("SIGTERM", () => {
      running.stop().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
    await send({ type: "serving", address: running.address });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    await fail(text, saysPortTaken(text) ? "port taken" : "setup");
  }
}

/** Stops a debugger at each request; the next step into a call leads to the function. */
function stopping(handler: FunctionHandler): FunctionHandler {
  return (req, ctx) => {
    // biome-ignore lint/suspicious/noDebugger: stopping here is the effect of the flag
    debugger;
    return typeof handler === "function" ? handler(req, ctx) : handler.runFunction(req, ctx);
  };
}

function writeLine(line: string): void {
  process.stderr.write(line);
}

/** Lines for function authors: what the function itself logs. The supervisor reports that it serves. */
function writeLineForAuthors(line: string): void {
  if (!/^\S+ {2}(DEBUG|INFO) {2,}(?:\S*\/)?runtime\/start\.[jt]s:/.test(line) && !/^\S+ {2}DEBUG/.test(line))
    writeLine(line);
}

async function fail(text: string, reason: FailureReason): Promise<void> {
  await send({ type: "failed", text, reason });
  process.exit(1);
}

function send(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve());
  });
}
