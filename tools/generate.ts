// SPDX-License-Identifier: Apache-2.0
// Regenerates everything under a gen/ folder, the references of the command and of the kinds, and the pictures of the architecture page:
// `npm run generate`; with --check it fails when a file would change.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generatePictures } from "./architecture/generate-pictures.ts";
import { generateCliReference } from "./cli-reference.ts";
import { generateErrorReference } from "./error-reference.ts";
import { generateFieldReference } from "./field-reference/generate-field-reference.ts";
import { generateProtocol } from "./protocol-codegen/generate-protocol.ts";

const check = process.argv.includes("--check");
const stale: string[] = [];

const generated = [
  generateProtocol(),
  generateCliReference(),
  generateErrorReference(),
  generateFieldReference(),
  generatePictures(),
];
for (const [path, text] of generated.flatMap((files) => [...files])) {
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  stale.push(path);
  if (check) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

for (const path of stale) console.log(`${check ? "out of date" : "wrote"}: ${path}`);
if (check && stale.length > 0) {
  console.error("run `npm run generate` and commit the result");
  process.exit(1);
}
