// SPDX-License-Identifier: Apache-2.0
import { access } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { PackageError } from "./package-error.ts";
import { projectSourceMap } from "./source-map.ts";

/** A function and everything it imports, in one file that serves by itself. */
export interface FunctionBundle {
  /** With a source map of the project's own files at its end. */
  readonly code: Uint8Array;
  /** What the bundler warned about, a line each. */
  readonly warnings: readonly string[];
}

/** Where the bundle lies in an image, and how it is started. */
export const bundlePath = "function/main.mjs";
/** With source maps, so that errors name the lines of the function and not those of the bundle. */
export const bundleCommand: readonly string[] = ["node", "--enable-source-maps", `/${bundlePath}`];

/** Modules of the older kind ask for others at run time; this lets them. */
const banner = `import { createRequire as purlinRequire } from "node:module"; const require = purlinRequire(import.meta.url);`;

/**
 * Bundles a TypeScript or JavaScript file that exports a function. The result depends on the sources alone: not on where they are,
 * nor on when.
 */
export async function bundleFunction(file: string): Promise<FunctionBundle> {
  const path = resolve(file);
  await access(path).catch((cause: unknown) => {
    throw new PackageError(`${file}: there is no such file`, { cause });
  });
  // A program of its own, needed only here.
  const { build } = await import("esbuild");
  try {
    const result = await build({
      stdin: { contents: program(basename(path)), resolveDir: dirname(path), sourcefile: "purlin-function.js" },
      absWorkingDir: dirname(path),
      outfile: basename(bundlePath),
      bundle: true,
      write: false,
      sourcemap: "external",
      sourcesContent: false,
      platform: "node",
      format: "esm",
      target: "node22",
      banner: { js: banner },
      legalComments: "none",
      // Comments would name the folders of this machine.
      minifyWhitespace: true,
      logLevel: "silent",
    });
    const [map, output] = result.outputFiles;
    if (map === undefined || output === undefined) throw new PackageError(`${file}: the bundle is empty`);
    const sourceMap = projectSourceMap(map.text, dirname(path));
    return { code: withSourceMap(output.text, sourceMap), warnings: result.warnings.map(messageText) };
  } catch (error) {
    throw asPackageError(file, error);
  }
}

function withSourceMap(code: string, sourceMap: string): Buffer {
  const encoded = Buffer.from(sourceMap).toString("base64");
  return Buffer.from(`${code}//# sourceMappingURL=data:application/json;base64,${encoded}\n`);
}

function program(name: string): string {
  return `
import * as module from ${JSON.stringify(`./${name}`)};
import { main } from "@purlin/function-sdk";
const { default: standard, fn, handler } = module;
const found = standard ?? fn ?? handler;
if (found === undefined) throw new Error(${JSON.stringify(`${name} exports no function: export it as default`)});
await main(found);
`;
}

interface BuildMessage {
  readonly text: string;
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null;
}

function messageText({ text, location }: BuildMessage): string {
  return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`;
}

function asPackageError(file: string, error: unknown): unknown {
  const { errors } = error as { errors?: readonly BuildMessage[] };
  const [first] = errors ?? [];
  if (first === undefined) return error;
  const advice = first.text.includes("@purlin/function-sdk")
    ? ": run npm install; a project of purlin function init has the SDK in its folder vendor/"
    : "";
  return new PackageError(`${file} cannot be bundled: ${messageText(first)}${advice}`, { cause: error });
}
