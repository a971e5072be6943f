// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { type BuiltinComponent, builtinComponents, metaApiVersion, objectMeta } from "./builtin-components.ts";
import { docComment, docLines } from "./doc-comment.ts";
import { type GeneratedFile, moduleHeader } from "./generated-file.ts";
import { shapeOf } from "./schema-shape.ts";
import { createTypeNames, importPath, modulePath, quoted } from "./type-names.ts";
import { memberParts, objectParts, type TypeContext, type TypePart, typeText } from "./type-text.ts";

/** The modules of the built-in kinds, one for each group-version, and one for what they share. */
export function* builtinModules(): Work<readonly GeneratedFile[]> {
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
