// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads and writes it.

export { printingYaml, printYaml } from "./print-yaml.ts";
export {
  isBlankDocument,
  isBounded,
  kubectlSchema,
  readFlowEvents,
  type StreamPart,
  splitDocuments,
  wideIntegerSchema,
} from "./read-yaml.ts";
