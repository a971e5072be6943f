// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 documents of the built-in kinds and of custom resources, and how to read any.
export { builtinOpenAPI, builtinSchema, type OpenAPIDocuments } from "./builtin-openapi.ts";
export { crdToOpenAPI, customResourceComponent, servedVersions } from "./crd-openapi.ts";
export {
  findSchema,
  inlineReferences,
  isOpenAPIError,
  mergeOpenAPI,
  type OpenAPIDocument,
  type OpenAPISource,
  openAPIPathKey,
  parseOpenAPIPathKey,
  referenceTo,
  referredComponent,
} from "./open-api-document.ts";
