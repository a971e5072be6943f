// SPDX-License-Identifier: Apache-2.0
import type { OpenAPISchema } from "../openapi/open-api-document.ts";
import { builtinSchemaJson } from "./gen/builtin-schemas.ts";

/** The generated facts about the built-in kinds; made by tools/builtin-schemas, which describes each member. */
export interface BuiltinData {
  readonly source: string;
  readonly release: string;
  readonly documents: Readonly<Record<string, readonly string[]>>;
  readonly crossRegistered: readonly string[];
  readonly clientGroupVersions: readonly string[];
  readonly schemas: Readonly<Record<string, OpenAPISchema>>;
}

let parsed: BuiltinData | undefined;

/** The data, parsed on first use: whoever only imports this package does not pay for it. */
export function builtinData(): BuiltinData {
  parsed ??= JSON.parse(builtinSchemaJson) as BuiltinData;
  return parsed;
}
