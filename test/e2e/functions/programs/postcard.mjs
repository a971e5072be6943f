// SPDX-License-Identifier: Apache-2.0
// The postcard function with the public TypeScript SDK. postcard.py does the same.
import { readFileSync } from "node:fs";
import {
  fromObject,
  getContextKey,
  getCredentials,
  getInput,
  getObservedComposedResources,
  getObservedCompositeResource,
  getRequiredResource,
  getRequiredSchema,
  normal,
  Ready,
  Resource,
  requireResource,
  requireSchema,
  Severity,
  Status,
  serve,
  setContextKey,
  setDesiredComposedResources,
  setDesiredCompositeResource,
  setDesiredCompositeStatus,
  Target,
} from "@crossplane-org/function-sdk-typescript";

const trailKey = "e2e.example.org/trail";

serve((req, rsp) => {
  rsp.meta.ttl = { seconds: 1, nanos: 0 };
  const { step } = getInput(req);
  const { spec } = getObservedCompositeResource(req).resource;
  const [seen] = getContextKey(req, trailKey);
  // Called again with what it asked for, a function gets back the context it left.
  const trail = (seen ?? []).includes(step) ? seen : [...(seen ?? []), step];
  setContextKey(rsp, trailKey, trail);
  if (spec.text === "") return refuse(rsp);
  if (spec.text === "spill") throw new Error("the ink is spilled");

  const { namespace } = spec.claimRef;
  requireResource(rsp, "recipient", { apiVersion: "v1", kind: "ConfigMap", namespace, matchName: spec.recipient });
  requireSchema(rsp, "card", "v1", "ConfigMap");
  const [[recipient]] = getRequiredResource(req, "recipient");
  if (recipient === undefined) return wait(rsp, spec.recipient);

  const data = { text: spec.text, to: recipient.resource.data.address, stamp: stampOf(req) };
  const card = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace }, data };
  const ready = isPosted(req) ? Ready.READY_TRUE : Ready.READY_FALSE;
  setDesiredComposedResources(rsp, { card: fromObject(card, {}, ready) });
  const [schema] = getRequiredSchema(req, "card");
  const dataType = schema?.properties.data.type ?? "unknown";
  const news = readFileSync(process.env.POSTCARD_NEWS, "utf8");
  setDesiredCompositeStatus({ rsp, status: { trail, news, dataType } });
  setCondition(rsp, { type: "Addressed", status: Status.STATUS_CONDITION_TRUE, reason: "Found" });
  normal(rsp, `wrote a card to ${data.to}`);
  return rsp;
});

function refuse(rsp) {
  const reason = "NoText";
  setCondition(rsp, { type: "Written", status: Status.STATUS_CONDITION_FALSE, reason, message: "Write something." });
  rsp.results.push({
    severity: Severity.SEVERITY_FATAL,
    reason,
    message: "a postcard needs a text",
    target: Target.TARGET_COMPOSITE_AND_CLAIM,
  });
  return rsp;
}

function wait(rsp, name) {
  setDesiredCompositeResource(rsp, Resource.fromJSON({}), Ready.READY_FALSE);
  const message = `Recipient ${name} not found.`;
  setCondition(rsp, { type: "Addressed", status: Status.STATUS_CONDITION_FALSE, reason: "Unknown", message });
  rsp.results.push({
    severity: Severity.SEVERITY_WARNING,
    reason: "NoRecipient",
    message: `there is no ConfigMap ${name}`,
    target: Target.TARGET_COMPOSITE_AND_CLAIM,
  });
  return rsp;
}

function stampOf(req) {
  if (req.credentials.stamp === undefined) return "";
  return getCredentials(req, "stamp").credentialData?.data.value?.toString() ?? "";
}

function isPosted(req) {
  const card = getObservedComposedResources(req).card?.resource;
  return card?.metadata.annotations?.["e2e.example.org/posted"] === "yes";
}

function setCondition(rsp, condition) {
  rsp.conditions.push({ ...condition, target: Target.TARGET_COMPOSITE_AND_CLAIM });
}
