// SPDX-License-Identifier: Apache-2.0
// How a real API server reads the bodies of patches: its own types are in the messages, and no library exports those.
import { type JsonObject, parseJson } from "../../packages/kube-objects/src/json/index.ts";
import { prettyMember } from "./formats.ts";
import { createKind, definitions } from "./prepare-server.ts";
import type { Entry, Recording } from "./recording.ts";
import { type ServerClient, warningsOf } from "./server-client.ts";

const group = "patched.example.org";
const configMaps = "/api/v1/namespaces/default/configmaps";
/** What the patches can be applied to: warnings come with an object that was patched. */
const patched = { metadata: { name: "patched" }, a: { x: 2 } };
const mediaTypes: Readonly<Record<string, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** Patches with a problem in the body are bad requests; those that can be read but not applied have another code. */
async function answerOf(client: ServerClient, { type, strict, text }: Entry, collection: string): Promise<JsonObject> {
  const validation = strict === true ? "Warn" : "Ignore";
  const reply = await client.send(`${collection}/patched?dryRun=All&fieldValidation=${validation}`, {
    method: "PATCH",
    headers: { "content-type": mediaTypes[String(type)] ?? "" },
    body: String(text),
  });
  if (reply.code === 400) return { error: (parseJson(reply.text) as JsonObject)["message"] ?? "" };
  // Unknown fields are those of the patched object; duplicates and operations are those of the body.
  return { findings: warningsOf(reply).filter((one) => !one.startsWith("unknown field")) };
}

const bodies: Recording = {
  subject: "patch",
  file: "packages/kube-objects/src/patch/testdata/decode-patch.json",
  ...prettyMember("bodies"),
  answer: async (entries, peers) => {
    const client = await peers.server();
    await client.until("/api/v1/namespaces/default");
    await client.create(configMaps, { metadata: patched.metadata });
    const kinds = await createKind(client, group, { type: "object", "x-kubernetes-preserve-unknown-fields": true });
    await client.create(kinds, { apiVersion: `${group}/v1`, kind: "K", ...patched });
    const all: Entry[] = [];
    for (const entry of entries) {
      const { type, strict, text } = entry;
      // Custom resources have no strategic merge patch, and the fields of a ConfigMap are given.
      const collection = type === "strategic" ? configMaps : kinds;
      all.push({ type, strict, text, ...(await answerOf(client, entry, collection)) } as Entry);
    }
    await client.send(`${configMaps}/patched`, { method: "DELETE" });
    await client.send(`${definitions}/ks.${group}`, { method: "DELETE" });
    return all;
  },
};

export const patchRecordings: readonly Recording[] = [bodies];
