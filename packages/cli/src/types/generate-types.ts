// SPDX-License-Identifier: Apache-2.0

import { inTurns } from "@purlin/base";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { limitSettings } from "../options/limit-flags.ts";
import { textOf, UserError } from "../user-error.ts";
import { builtinModules } from "./builtin-modules.ts";
import { type CustomKind, customModule } from "./custom-module.ts";
import { type GeneratedFile, generatedMark, projectSchemaFile, schemaFile } from "./generated-file.ts";
import { manifestSchema } from "./manifest-schema.ts";
import { modulePath } from "./type-names.ts";
import { TypeTooLargeError } from "./type-text.ts";

/** The built-in kinds do not change while this process runs. */
let builtin: Promise<readonly GeneratedFile[]> | undefined;

/**
 * All files of a project's types: modules of the built-in kinds and of the given ones, and the schemas for editors. `sources` are
 * recorded with them. Lets others have their turn meanwhile.
 */
export async function generateTypes(
  kinds: readonly CustomKind[],
  sources: readonly string[] | undefined,
): Promise<readonly GeneratedFile[]> {
  builtin ??= inTurns(builtinModules());
  const files = [...(await builtin)];
  const modules = Map.groupBy(kinds, ({ group, version }) => `${group}/${version}`);
  for (const apiVersion of [...modules.keys()].sort()) {
    const own = modules.get(apiVersion) ?? [];
    const text = await orUserError(apiVersion, () => inTurns(customModule(apiVersion, own)));
    const path = modulePath(apiVersion);
    const at = files.findIndex((file) => file.path === path);
    // A CRD file of a built-in group-version describes it in more detail than we know it.
    if (at < 0) files.push({ path, text });
    else files[at] = { path, text };
  }
  const schema = await inTurns(manifestSchema(kinds, sources));
  return [...files, { path: schemaFile, text: schema }, { path: projectSchemaFile, text: projectSchema() }];
}

async function orUserError(apiVersion: string, generate: () => Promise<string>): Promise<string> {
  try {
    return await generate();
  } catch (error) {
    if (!(error instanceof TypeTooLargeError)) throw error;
    throw new UserError(`${apiVersion}: ${textOf(error)}: split the group into several, or make its schemas smaller`);
  }
}

const closed = (properties: JsonObject, description: string): JsonObject => ({
  ...{ type: "object", description, additionalProperties: false, properties },
});
const port = (description: string): JsonObject => ({ type: "integer", minimum: 1, maximum: 65_535, description });
const text = (description: string): JsonObject => ({ type: "string", minLength: 1, description });
const toggle = (description: string): JsonObject => ({ type: "boolean", description });

/** The JSON Schema of purlin.yaml, for editors. */
export function projectSchema(): string {
  const limits = Object.values(limitSettings).map(({ field, description }) => [
    field,
    { type: ["string", "number"], description },
  ]);
  const properties = {
    dataDir: text("Folder of the control plane's data, relative to this file (.purlin)."),
    paths: {
      ...{ type: "array", items: { type: "string", minLength: 1 } },
      description:
        "Files and folders that `purlin up` applies where its command line names none, relative to this file.",
    },
    ports: closed({ api: port("As --port."), registry: port("As --registry-port.") }, "Where to listen on loopback."),
    features: closed(
      { functionRevisionSelectors: toggle("As --enable-function-revision-selectors.") },
      "Features that are off by default.",
    ),
    functions: closed(
      { requireSandbox: toggle("As --require-sandbox."), ...(Object.fromEntries(limits) as JsonObject) },
      "How functions run.",
    ),
    namespace: text("Namespace of objects and commands that name none (default)."),
  };
  const schema = closed(properties, "Settings of a project.");
  const head = { $schema: "http://json-schema.org/draft-07/schema#", $comment: generatedMark };
  return `${printJson({ ...head, ...schema }, { indent: 2 })}\n`;
}
