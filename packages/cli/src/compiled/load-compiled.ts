// SPDX-License-Identifier: Apache-2.0
import { readCodeCache, writeCodeCache } from "./code-cache.ts";

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { readFileSync } = process.getBuiltinModule("node:fs");
const { createRequire, getCompileCacheDir } = process.getBuiltinModule("node:module");
const { join } = process.getBuiltinModule("node:path");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { Script } = process.getBuiltinModule("node:vm");
const { crc32 } = process.getBuiltinModule("node:zlib");

/** How a program is loaded. */
interface LoadOptions {
  /** Where compiled code is kept; undefined keeps none. Default: where Node keeps it. */
  readonly directory?: string | undefined;
  /** Calls back once the program has run so far that most of what it needs at a start was compiled. */
  readonly whenStarted?: (keep: () => void) => void;
}

/**
 * Loads a program that was built into one CommonJS file, with the code V8 has compiled for it the last time. Node's own compile cache
 * holds what is compiled when a file is loaded; most functions are compiled when they are first called, and that was a third of the
 * time of a command that does little.
 */
export function loadCompiled(file: URL, options: LoadOptions = {}): Record<string, unknown> {
  const { whenStarted = soon } = options;
  const directory = "directory" in options ? options.directory : getCompileCacheDir();
  const path = fileURLToPath(file);
  // Built as ASCII, and so a string of one byte a character.
  const source = readFileSync(path, "latin1");
  const kept = directory === undefined ? undefined : join(directory, `${crc32(source).toString(16)}.purlin`);
  const cache = kept === undefined ? undefined : readCodeCache(kept);
  const script = new Script(`(function(exports,require,module,importMetaUrl){${source}\n})`, {
    filename: path,
    ...(cache && { cachedData: cache.data }),
  });
  const runs = cache === undefined || script.cachedDataRejected === true ? 0 : cache.runs;
  if (kept !== undefined && runs < addingRuns) {
    whenStarted(() => writeCodeCache(kept, { data: script.createCachedData(), runs: runs + 1 }));
  }
  const module: { exports: Record<string, unknown> } = { exports: {} };
  const run = script.runInThisContext() as (...parameters: readonly unknown[]) => void;
  run.call(module.exports, module.exports, createRequire(file), module, file.href);
  return module.exports;
}

/** The first run may have ended early, and the next ones taken other ways: each adds what it has called. */
const addingRuns = 3;
const startMs = 2000;

/** Before V8 forgets what was needed at the start only, or at the end of a command that is over before. */
function soon(keep: () => void): void {
  const once = (): void => {
    clearTimeout(timer);
    process.off("exit", once);
    keep();
  };
  const timer = setTimeout(once, startMs).unref();
  process.once("exit", once);
}
