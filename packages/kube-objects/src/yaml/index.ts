// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads it. Apart from the package's root, because not everybody who needs objects needs a YAML reader.
export { isBounded } from "./expanded-size.ts";
export { isBlankDocument, type StreamPart, splitDocuments } from "./split-documents.ts";
export { kubectlSchema, wideIntegerSchema } from "./yaml-schema.ts";
