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
import { renderModule } from "./render.ts";
import { discoveryDocuments, release, servedResources } from "./served.ts";

const target = fileURLToPath(
  new URL("../../packages/kube-objects/src/openapi/gen/builtin-schemas.ts", import.meta.url),
);

function readOriginals(): Originals {
  const directory = goModuleDirectory("k8s.io/kubernetes", release);
  const keys = [...Object.keys(servedResources), ...discoveryDocuments()].sort();
  const swagger = JSON.parse(readFileSync(join(directory, "api/openapi-spec/swagger.json"), "utf8"));
  const deleteOptions: Json = swagger.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
  return {
    release,
    documents: Object.fromEntries(keys.map((key) => [key, readOriginal(directory, key)])),
    served: servedResources,
    enums: readEnums(readFileSync(join(directory, "pkg/generated/openapi/zz_generated.openapi.go"), "utf8")),
    deleteOptionsKinds: deleteOptions["x-kubernetes-group-version-kind"] as Originals["deleteOptionsKinds"],
  };
}

async function check(originals: Originals, text: string): Promise<string[]> {
  if (readFileSync(target, "utf8") !== text) return ["the generated file is out of date: run the tool without --check"];
  // Only now, so that a missing or broken file can be generated at all.
  const { compareWithOriginals } = await import("./compare.ts");
  return compareWithOriginals(originals.documents, originals.enums);
}

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const originals = readOriginals();
const text = renderModule(buildData(originals));
if (!values.check) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
const problems = await check(originals, text);
for (const problem of problems) console.error(problem);
console.log(`${(text.length / 1024).toFixed(0)} KiB of schemas from k8s.io/kubernetes ${release}`);
process.exitCode = problems.length === 0 ? 0 : 1;
