// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";

/** A folder in which functions find the SDK, with files by name. */
export function functionProject(files: Readonly<Record<string, string>>): TempFolder {
  const folder = tempFolder({ "package.json": '{"type":"module"}', ...files });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}

/** The source of a function that answers with a word, and on a request tagged "slow" only once a file "go" is there. */
export function functionSource(word: string): string {
  return `
import { existsSync } from "node:fs";
import { type FunctionHandler, response } from "@purlin/function-sdk";
const fn: FunctionHandler = async (req, ctx) => {
  const go = new URL("./go", import.meta.url);
  if (req.meta?.tag === "slow") console.log("a slow call has begun");
  while (req.meta?.tag === "slow" && !existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 5));
  const rsp = ctx.to(req);
  response.normal(rsp, "${word}");
  return rsp;
};
export default fn;
`;
}
