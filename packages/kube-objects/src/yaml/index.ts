// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads and writes it.
export { isBounded } from "./expanded-size.ts";
export { printingYaml, printYaml } from "./print-yaml.ts";
export { isBlankDocument, type StreamPart, splitDocuments } from "./split-documents.ts";
export { kubectlSchema, wideIntegerSchema } from "./yaml-schema.ts";
