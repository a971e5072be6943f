// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "../json/json-value.ts";

/** An OpenAPI v3 schema: plain read-only JSON. */
export type OpenAPISchema = JsonObject;

/** The OpenAPI v3 document of one group-version, as `/openapi/v3/…` serves it. */
export interface OpenAPIDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: JsonObject;
  readonly components: { readonly schemas: Readonly<Record<string, OpenAPISchema>> };
}

/** A document as it arrives from a server or a file: whatever is missing or odd is treated as absent. */
export interface OpenAPISource {
  readonly components?: unknown;
}

/** The extension by which a schema names the kinds it describes. */
export const kindsExtension = "x-kubernetes-group-version-kind";
