// SPDX-License-Identifier: Apache-2.0
// The process of one version of a function, started by the supervisor: worker.ts FILE FLAGS…
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { FunctionHandler } from "@purlin/function-sdk";
import type { WorkerMessage } from "../spawn/worker-message.ts";
import { describeLoadError, relativeTo } from "./load-error.ts";

const names = ["default", "fn", "handler"] as const;

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
  if (!existsSync(file)) return fail(`${relativeTo(process.cwd(), file)}: file not found`, { setup: false });
  try {
    module = (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    return fail(describeLoadError(error, process.cwd()), { setup: false });
  }
  const handler = findHandler(module);
  if (typeof handler === "string") return fail(`${relativeTo(process.cwd(), file)}: ${handler}`, { setup: false });
  await send({ type: "loaded" });
  const { newLogger, parseFlags, start } = await import("@purlin/function-sdk");
  try {
    // biome-ignore lint/style/noProcessEnv: a program of its own, which takes the environment variables of functions
    const { options } = parseFlags({ argv: flags, env: process.env });
    const log = newLogger({ debug: true, write: options.debug === true ? writeLine : writeLineForAuthors });
    const running = await start(handler, { ...options, log });
    process.once("SIGTERM", () => {
      running.stop().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
    await send({ type: "serving", address: running.address });
  } catch (error) {
    await fail(error instanceof Error ? error.message : String(error), { setup: true });
  }
}

function writeLine(line: string): void {
  process.stderr.write(line);
}

/** Lines for function authors: what the function itself logs. The supervisor reports that it serves. */
function writeLineForAuthors(line: string): void {
  if (!/^\S+ {2}(DEBUG|INFO) {2,}(?:\S*\/)?runtime\/start\.[jt]s:/.test(line) && !/^\S+ {2}DEBUG/.test(line))
    writeLine(line);
}

async function fail(text: string, { setup }: { readonly setup: boolean }): Promise<void> {
  await send({ type: "failed", text, setup });
  process.exit(1);
}

function send(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve());
  });
}

/** The function a module exports, or a text that says what is wrong with its exports. */
export function findHandler(module: object): FunctionHandler | string {
  const exports = module as Readonly<Record<string, unknown>>;
  const name = names.find((candidate) => exports[candidate] !== undefined);
  if (name === undefined) {
    const found = Object.keys(exports);
    const what = found.length === 0 ? "nothing" : found.join(", ");
    return `the file exports ${what}: export the function as default, as in "export default fn"`;
  }
  const value = exports[name];
  if (isHandler(value)) return value;
  return `the export "${name}" is not a function: expected (req, ctx) => response, or an object with runFunction`;
}

function isHandler(value: unknown): value is FunctionHandler {
  if (typeof value === "function") return true;
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)["runFunction"] === "function"
  );
}
