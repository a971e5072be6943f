// SPDX-License-Identifier: Apache-2.0
import { goQuote, isCheckedFormat, type JsonObject } from "@purlin/kube-objects";
import { objectAt, objectsAt } from "./crd-spec.ts";
import { named, type SchemaProps, schemaProps } from "./schema-props.ts";

/** Warnings about formats that nobody checks, apart from those the definition had before. */
export function formatWarnings(crd: JsonObject, old: JsonObject | undefined): string[] {
  const before = new Set(old === undefined ? [] : uncheckedFormats(old));
  return uncheckedFormats(crd)
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

function uncheckedFormats(crd: JsonObject): string[] {
  const found: string[] = [];
  for (const version of objectsAt(objectAt(crd, "spec") ?? {}, "versions")) {
    const schema = objectAt(objectAt(version, "schema") ?? {}, "openAPIV3Schema");
    if (schema !== undefined) collect(schemaProps(schema), found);
  }
  return found;
}

function collect(schema: SchemaProps, found: string[]): void {
  const format = schema.text("format");
  if (format !== "" && !isCheckedFormat(format, schema.type === "" ? [] : [schema.type])) found.push(format);
  for (const child of childrenOf(schema)) collect(child, found);
}

function childrenOf(schema: SchemaProps): SchemaProps[] {
  const single = [schema.items?.schema, schema.not, schema.additionalProperties?.schema];
  return [
    ...single.filter((one) => one !== undefined),
    ...(schema.items?.schemas ?? []),
    ...schema.allOf,
    ...schema.anyOf,
    ...schema.oneOf,
    ...[...schema.properties, ...named(schema.json, "definitions")].map(([, property]) => property),
  ];
}
