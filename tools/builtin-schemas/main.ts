// SPDX-License-Identifier: Apache-2.0
// Generates packages/kube-objects/src/openapi/gen from the OpenAPI documents of a Kubernetes release. See README.md.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildData, type Originals } from "./build-data.ts";
import { readEnums } from "./enums.ts";
import { goModuleDirectory } from "./go-module.ts";
import { type Json, readOriginal } from "./original.ts";
import { protobufFields } from "./protobuf-fields.ts";
import { renderFields, renderModule } from "./render.ts";
import { discoveryDocuments, release, servedVersions } from "./served.ts";

const generated = (path: string): string =>
  fileURLToPath(new URL(`../../packages/kube-objects/src/${path}`, import.meta.url));

function readOriginals(): Originals {
  const directory = goModuleDirectory("k8s.io/kubernetes", release);
  const keys = [...servedVersions, ...discoveryDocuments()].sort();
  const swagger = JSON.parse(readFileSync(join(directory, "api/openapi-spec/swagger.json"), "utf8"));
  const deleteOptions: Json = swagger.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
  return {
    release,
    documents: Object.fromEntries(keys.map((key) => [key, readOriginal(directory, key)])),
    enums: readEnums(readFileSync(join(directory, "pkg/generated/openapi/zz_generated.openapi.go"), "utf8")),
    deleteOptionsKinds: deleteOptions["x-kubernetes-group-version-kind"] as Originals["deleteOptionsKinds"],
  };
}

/** The generated files by their path. */
function render(originals: Originals): ReadonlyMap<string, string> {
  const data = buildData(originals);
  return new Map([
    [generated("openapi/gen/builtin-schemas.ts"), renderModule(data)],
    [generated("protobuf/gen/protobuf-fields.ts"), renderFields(protobufFields(data.schemas), release)],
  ]);
}

async function check(originals: Originals, files: ReadonlyMap<string, string>): Promise<string[]> {
  const stale = [...files].filter(([path, text]) => readFileSync(path, "utf8") !== text);
  if (stale.length > 0) return stale.map(([path]) => `${path} is out of date: run the tool without --check`);
  // Only now, so that a missing or broken file can be generated at all.
  const { compareWithOriginals } = await import("./compare.ts");
  return compareWithOriginals(originals.documents, originals.enums);
}

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const originals = readOriginals();
const files = render(originals);
if (!values.check) {
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
const problems = await check(originals, files);
for (const problem of problems) console.error(problem);
for (const [path, text] of files) console.log(`${path}: ${(text.length / 1024).toFixed(0)} KiB from k8s.io ${release}`);
process.exitCode = problems.length === 0 ? 0 : 1;
