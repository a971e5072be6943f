// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** The files that a page shows: its blocks with a path after the language, such as `yaml platform/definition.yaml`. */
export function guideFiles(page: URL): Record<string, string> {
  const blocks = readFileSync(page, "utf8").matchAll(/^```(?:yaml|ts|json) (\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, path = "", text = ""]) => [path, text]));
}
