// SPDX-License-Identifier: Apache-2.0
import { type Endpoint, type KindRules, listAt, textFields } from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, utf8Length } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { noNamespaceField } from "../checks/rule-checks.ts";

const decisions = new Set(["Approved", "Denied"]);

/** The status of a request as an approver changes it: the conditions only. */
function withConditions(object: JsonObject, old: JsonObject): JsonObject {
  const conditions = listAt(object, "status", "conditions");
  const { conditions: _before, ...rest } = objectAt(old, ["status"]);
  const status = conditions.length === 0 ? rest : { ...rest, conditions };
  return { ...old, metadata: object["metadata"] ?? {}, status };
}

/** A write to the status keeps the decisions that the old object has, if it has as many. */
function keepsDecisions(object: JsonObject, old: JsonObject): JsonObject {
  const conditions = [...listAt(object, "status", "conditions")];
  for (const type of decisions) {
    const isOfType = (one: JsonObject): boolean => stringAt(one, ["type"]) === type;
    const before = listAt(old, "status", "conditions").filter(isOfType);
    if (conditions.filter(isOfType).length !== before.length) continue;
    for (const [index, one] of conditions.entries()) if (isOfType(one)) conditions[index] = before.shift() ?? one;
  }
  return conditions.length === 0 ? object : withMember(object, ["status", "conditions"], conditions);
}

const usages = [
  ...["any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"],
  ...["decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"],
  ...["ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"],
  ...["server auth", "signing", "timestamping"],
];

/** The name of a signer: a domain and a path. */
function signerErrors(name: string, path: string): FieldError[] {
  if (name === "") return [requiredValue(path)];
  const parts = name.split("/");
  const [domain = "", own = ""] = parts;
  const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  if (parts.length !== 2) return [invalidValue(path, name, form)];
  const labels = domain.split(".");
  const wrong = (text: string, list: readonly string[], problems: (one: string) => string[]): FieldError[] => {
    const label = list.find((one) => problems(one).length > 0);
    if (label === undefined) return [];
    return problems(label).map((problem) => invalidValue(path, text, `validating label ${goQuote(label)}: ${problem}`));
  };
  const segments = "should be a domain with at least two segments separated by dots";
  return [
    ...(utf8Length(domain) > maxDomain ? [tooLong(path, maxDomain)] : []),
    ...wrong(domain, labels, dns1123LabelProblems),
    ...(labels.length < 2 ? [invalidValue(path, domain, segments)] : []),
    ...wrong(own, own.split("."), dns1123SubdomainProblems),
    ...(utf8Length(name) > maxSigner ? [tooLong(path, maxSigner)] : []),
  ];
}

const maxDomain = 253;
const maxSigner = 571;
const legacySigner = "kubernetes.io/legacy-unknown";

/** So many beginnings of blocks are looked at: text that repeats them must not take long. */
const mostBlocks = 10;
const dashes = "-----";
const begin = "-----BEGIN ";
const end = "\n-----END ";

/** The type of the first whole block of a PEM file, as Go reads it; undefined when there is none. */
function firstBlockType(pem: string): string | undefined {
  const text = `\n${pem}`;
  let at = text.indexOf(`\n${begin}`);
  for (let count = 0; at >= 0 && count < mostBlocks; count += 1) {
    const [line = ""] = text.slice(at + 1 + begin.length).split("\n", 1);
    const [first, lineEnd] = [line.trimEnd(), at + 1 + begin.length + line.length];
    const type = first.slice(0, -dashes.length);
    if (first.endsWith(dashes) && isWholeBlock(text.slice(lineEnd), type)) return type;
    at = text.indexOf(`\n${begin}`, lineEnd);
  }
  return undefined;
}

/** Whether text that begins after the first line of a block has its content and its last line. */
function isWholeBlock(text: string, type: string): boolean {
  const headers = /^(?:\n[^\n:]*:[^\n]*(?=\n))*/.exec(text)?.[0] ?? "";
  const last = text.indexOf(end, headers.length);
  if (last < 0) return false;
  const [lastLine = ""] = text.slice(last + end.length).split("\n", 1);
  if (lastLine.trimEnd() !== type + dashes) return false;
  const content = text.slice(headers.length, last).replaceAll(/[ \t\r\n]/g, "");
  return content.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
}

function requestErrors(spec: JsonObject): FieldError[] {
  const [sent, given, signer] = [
    stringAt(spec, ["request"]),
    textsAt(spec, ["usages"]),
    stringAt(spec, ["signerName"]),
  ];
  const isRequest = firstBlockType(Buffer.from(sent, "base64").toString("latin1")) === "CERTIFICATE REQUEST";
  const seconds = memberAt(spec, ["expirationSeconds"]);
  const brief = "may not specify a duration less than 600 seconds (10 minutes)";
  const legacy = "the legacy signerName is not allowed via this API version";
  return [
    ...(isRequest
      ? []
      : [
          invalidValue(
            "spec.request",
            memberAt(spec, ["request"]) ?? null,
            "PEM block type must be CERTIFICATE REQUEST",
          ),
        ]),
    ...(given.length === 0 ? [requiredValue("spec.usages")] : []),
    ...given.flatMap((one, index) =>
      usages.includes(one) ? [] : [unsupportedValue(`spec.usages[${index}]`, one, usages)],
    ),
    ...given.flatMap((one, index) =>
      given.indexOf(one) < index ? [duplicateValue(`spec.usages[${index}]`, one)] : [],
    ),
    ...(signer === legacySigner
      ? [invalidValue("spec.signerName", signer, legacy)]
      : signerErrors(signer, "spec.signerName")),
    ...(typeof seconds === "number" && seconds < 600 ? [invalidValue("spec.expirationSeconds", seconds, brief)] : []),
  ];
}

const statuses = ["False", "True", "Unknown"];
const onlyTrue = ["Approved", "Denied", "Failed"];

function conditionErrors(object: JsonObject): FieldError[] {
  const conditions = listAt(object, "status", "conditions");
  const types = conditions.map((one) => stringAt(one, ["type"]));
  return conditions.flatMap((one, index) => {
    const [at, type, status] = [`status.conditions[${index}]`, types[index] ?? "", stringAt(one, ["status"])];
    const allowed = onlyTrue.includes(type) ? ["True"] : statuses;
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    const isBoth = other !== undefined && types.slice(0, index).includes(other);
    return [
      ...(type === "" ? [requiredValue(`${at}.type`)] : []),
      ...(status === "" ? [requiredValue(`${at}.status`)] : []),
      ...(status === "" || allowed.includes(status) ? [] : [unsupportedValue(`${at}.status`, status, allowed)]),
      ...(isBoth ? [invalidValue("status.conditions", type, exclusive)] : []),
      ...(types.indexOf(type) < index ? [duplicateValue(`${at}.type`, type)] : []),
    ];
  });
}

const exclusive = "Approved and Denied conditions are mutually exclusive";

function certificateErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [stringAt(object, ["status", "certificate"]), stringAt(old, ["status", "certificate"])];
  if (now === before) return [];
  const isPem = now === "" || Buffer.from(now, "base64").toString().includes("-----BEGIN CERTIFICATE-----");
  const why = "must contain at least one CERTIFICATE PEM block";
  const path = "status.certificate";
  return [
    ...(isPem ? [] : [invalidValue(path, "<certificate data>", why)]),
    ...(before === "" ? [] : [forbiddenValue(path, "updates may not modify existing certificate content")]),
  ];
}

/** Decisions stay, and only an approver adds them. */
function decisionErrors(object: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  const count = (one: JsonObject, type: string): number =>
    listAt(one, "status", "conditions").filter((condition) => stringAt(condition, ["type"]) === type).length;
  return onlyTrue.flatMap((type) => {
    const [now, before] = [count(object, type), count(old, type)];
    const isAdded = now > before && endpoint !== "approval" && type !== "Failed";
    const say = (verb: string): FieldError[] => [
      forbiddenValue("status.conditions", `updates may not ${verb} a condition of type ${goQuote(type)}`),
    ];
    return now < before ? say("remove") : isAdded ? say("add") : [];
  });
}

/** Conditions with the times of their changes. */
function withTimes(object: JsonObject, old: JsonObject, now: string): JsonObject {
  const before = listAt(old, "status", "conditions");
  const timed = listAt(object, "status", "conditions").map((one) => {
    const same = before.find((other) => other["type"] === one["type"] && other["status"] === one["status"]);
    const since = stringAt(one, ["lastTransitionTime"]) || stringAt(same ?? {}, ["lastTransitionTime"]) || now;
    return { ...one, lastUpdateTime: stringAt(one, ["lastUpdateTime"]) || now, lastTransitionTime: since };
  });
  return timed.length === 0 ? object : withMember(object, ["status", "conditions"], timed);
}

/** The rules of CertificateSigningRequests: the server records the requestor, and only the status changes afterwards. */
export function signingRequestRules(now: () => Date): KindRules {
  return {
    fields: textFields("spec.signerName"),
    fieldProblem: noNamespaceField,
    resets: {
      "": [["spec"], ["status"]],
      status: [["spec"], ["status", "conditions"]],
      approval: [["spec"], ["status", "certificate"]],
    },
    validateNew: (object) => requestErrors(objectAt(object, ["spec"])),
    validateChange: (object, old, endpoint) => [
      ...conditionErrors(object),
      ...decisionErrors(object, old, endpoint),
      ...certificateErrors(object, old),
    ],
    prepareCreate: withRequestor,
    prepareUpdate: (object, old, endpoint) => {
      if (endpoint === "approval") return withConditions(withTimes(object, old, timestamp(now())), old);
      if (endpoint === "status") return withTimes(keepsDecisions(object, old), old, timestamp(now()));
      return { ...object, spec: old["spec"] ?? {} };
    },
  };
}

function withRequestor(object: JsonObject, user: Parameters<NonNullable<KindRules["prepareCreate"]>>[1]): JsonObject {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = objectAt(object, ["spec"]);
  const requestor = user && {
    username: user.name,
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
    ...(user.groups.length > 0 && { groups: [...user.groups] }),
    ...(user.extra && { extra: user.extra as JsonObject }),
  };
  return { ...object, spec: { ...spec, ...requestor } };
}
