// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "./temp-folder.ts";

/** The metadata of a package. */
export function packageMeta(name = "function-hello", kind = "Function"): string {
  return `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
}

/** A project as `purlin function init` makes it, with more files by name. */
export function functionPackage(files: Readonly<Record<string, string>> = {}): TempFolder {
  const folder = tempFolder({
    "package.json": '{"type": "module", "exports": "./src/function.ts"}',
    "src/function.ts":
      'import { response } from "@purlin/function-sdk";\nexport default (req: never) => response.to(req);\n',
    "package/crossplane.yaml": packageMeta(),
    ...files,
  });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}
