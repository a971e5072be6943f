// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 documents of the built-in kinds and of custom resources, and how to read any.
export { builtinOpenAPI, type OpenAPIDocuments } from "./builtin-openapi.ts";
export { builtinSchema } from "./builtin-schema.ts";
export { crdToOpenAPI, customResourceComponent } from "./crd-openapi.ts";
export { servedVersions } from "./crd-versions.ts";
export { findSchema } from "./find-schema.ts";
export { inlineReferences } from "./inline-references.ts";
export { mergeOpenAPI } from "./merge-openapi.ts";
export type { OpenAPIDocument, OpenAPISource } from "./open-api-document.ts";
export { isOpenAPIError } from "./open-api-error.ts";
export { openAPIPathKey, parseOpenAPIPathKey } from "./path-key.ts";
export { referenceTo, referredComponent } from "./reference.ts";
