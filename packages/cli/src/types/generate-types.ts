// SPDX-License-Identifier: Apache-2.0

import { inTurns, type Work } from "@purlin/base";
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { limitSettings } from "../options/shared-options.ts";
import { testFileSchema } from "../test-command/test-schema.ts";
import { textOf, UserError } from "../user-error.ts";
import { type BuiltinComponent, builtinComponents, metaApiVersion, objectMeta } from "./builtin-components.ts";
import { type CustomKind, customModule } from "./custom-module.ts";
import {
  createTypeNames,
  docComment,
  docLines,
  type GeneratedFile,
  generatedMark,
  importPath,
  moduleHeader,
  modulePath,
  projectSchemaFile,
  quoted,
  schemaFile,
  testSchemaFile,
} from "./generated-text.ts";
import { manifestSchema, type SchemaOptions } from "./manifest-schema.ts";
import {
  memberParts,
  objectParts,
  shapeOf,
  type TypeContext,
  type TypePart,
  TypeTooLargeError,
  typeText,
} from "./type-text.ts";

/** The built-in kinds do not change while this process runs. */
let builtin: Promise<readonly GeneratedFile[]> | undefined;

/**
 * All files of a project's types: modules of the built-in kinds and of the given ones, and the schemas for editors. Lets others
 * have their turn meanwhile.
 */
export async function generateTypes(
  kinds: readonly CustomKind[],
  options: SchemaOptions = {},
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
  return [...files, ...(await generateSchemas(kinds, options))];
}

/** The JSON Schemas of all YAML of a project: manifests, test files and purlin.yaml. */
export async function generateSchemas(
  kinds: readonly CustomKind[],
  options: SchemaOptions,
): Promise<readonly GeneratedFile[]> {
  return [
    { path: schemaFile, text: await inTurns(manifestSchema(kinds, options)) },
    { path: projectSchemaFile, text: projectSchema() },
    { path: testSchemaFile, text: wholeSchema(testFileSchema()) },
  ];
}

function wholeSchema(schema: JsonObject): string {
  const head = { $schema: "http://json-schema.org/draft-07/schema#", $comment: generatedMark };
  return `${printJson({ ...head, ...schema }, { indent: 2 })}\n`;
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
      {
        functionRevisionSelectors: toggle("As --enable-function-revision-selectors."),
        functionRollouts: toggle("As --enable-function-rollouts."),
      },
      "Features that are off by default.",
    ),
    functions: closed(
      { requireSandbox: toggle("As --require-sandbox."), ...(Object.fromEntries(limits) as JsonObject) },
      "How functions run.",
    ),
    namespace: text("Namespace of objects and commands that name none (default)."),
  };
  return wholeSchema(closed(properties, "Settings of a project."));
}

/** The modules of the built-in kinds, one for each group-version, and one for what they share. */
function* builtinModules(): Work<readonly GeneratedFile[]> {
  const components = builtinComponents();
  const modules = Map.groupBy(components.values(), ({ apiVersion }) => apiVersion);
  const files: GeneratedFile[] = [];
  for (const apiVersion of [...modules.keys()].sort()) {
    const text = yield* moduleText(apiVersion, modules.get(apiVersion) ?? [], components);
    files.push({ path: modulePath(apiVersion), text });
  }
  return files;
}

function* moduleText(
  apiVersion: string,
  own: readonly BuiltinComponent[],
  all: ReadonlyMap<string, BuiltinComponent>,
): Work<string> {
  const imports = new Map<string, string>();
  const componentType = (name: string): string | undefined => {
    const found = all.get(name);
    if (found === undefined || found.apiVersion === apiVersion) return found?.typeName;
    const alias = aliasOf(found.apiVersion);
    imports.set(alias, found.apiVersion);
    return `${alias}.${found.typeName}`;
  };
  const context: TypeContext = {
    ...{ use: "written", componentType, isCustom: false },
    metadata: componentType(objectMeta) ?? "unknown",
  };
  imports.clear();
  const sorted = own.toSorted((a, b) => (a.typeName < b.typeName ? -1 : 1));
  const body = yield* typeText(
    sorted.flatMap((component) => componentParts(component, context)),
    context,
  );
  const lines = [...imports].sort().map(([alias, from]) => {
    return `import type * as ${alias} from ${quoted(importPath(apiVersion, modulePath(from)))};\n`;
  });
  return `${moduleHeader}${lines.join("")}${body}`;
}

/** `rbac.authorization.k8s.io/v1` is imported as `rbac_authorization_k8s_io_v1`, and `v1` as `core`. */
function aliasOf(apiVersion: string): string {
  if (apiVersion === "v1") return "core";
  return apiVersion === metaApiVersion ? "meta" : createTypeNames([]).take(apiVersion);
}

function componentParts({ schema, apiVersion, kind, typeName }: BuiltinComponent, context: TypeContext): TypePart[] {
  const head = `\n${docComment(docLines(schema, { isDefaultShown: false }), "")}export type ${typeName} = `;
  const top = { indent: 0, depth: 0 };
  const { value } = shapeOf(schema);
  if (kind === undefined || value.is !== "object") {
    return [head, ...(value.is === "object" ? objectParts(value, top, context) : [{ ...top, schema }]), ";\n"];
  }
  const members = value.members.filter(({ name }) => name !== "apiVersion" && name !== "kind");
  const inside = { indent: 1, depth: 1 };
  return [
    `${head}{\n  apiVersion: ${quoted(apiVersion)};\n  kind: ${quoted(kind)};\n`,
    ...members.flatMap((member) => memberParts(member, inside, context)),
    "};\n",
  ];
}
