// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { limitSettings } from "../up/limit-flags.ts";
import { generatedMark } from "./generated-file.ts";

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
      { functionRevisionSelectors: toggle("As --enable-function-revision-selectors.") },
      "Features that are off by default.",
    ),
    functions: closed(
      { requireSandbox: toggle("As --require-sandbox."), ...(Object.fromEntries(limits) as JsonObject) },
      "How functions run.",
    ),
    namespace: text("Namespace of objects and commands that name none (default)."),
  };
  const schema = closed(properties, "Settings of a project.");
  const head = { $schema: "http://json-schema.org/draft-07/schema#", $comment: generatedMark };
  return `${printJson({ ...head, ...schema }, { indent: 2 })}\n`;
}
