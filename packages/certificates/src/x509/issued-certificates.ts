// SPDX-License-Identifier: Apache-2.0
// The certificates that a signer writes, as Go's crypto/x509 reads them, with its texts.
import { isUtf8 } from "node:buffer";
import { DerCursor, decodePem } from "./der-cursor.ts";
import { isAscii, isBmp, isNumeric, isPrintable } from "./der-shapes.ts";
import { type PublicKey, readPublicKey, refuse } from "./public-key.ts";
import { checkNames, maxPemBytes, problemOf, tooLargeText, type UriProblem } from "./signing-request.ts";

const sequence = 0x30;
const none = new Uint8Array();

/**
 * What is wrong with PEM that should hold certificates and nothing else, in the words of the real API server. Undefined when it is right.
 * The signatures are not checked: the issuer is not known here.
 */
export function certificatesProblem(pem: Uint8Array, uriProblem: UriProblem): string | undefined {
  if (pem.length > maxPemBytes) return tooLargeText;
  let text = Buffer.from(pem).toString("latin1");
  for (let count = 0; ; count += 1) {
    const block = decodePem(text);
    if (block === undefined) return count === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
    if (block.type !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(block.type)}`;
    }
    if (block.hasHeaders) return "no PEM block headers are permitted";
    if (block.bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    const problem = problemOf(() => checkCertificates(block.bytes, uriProblem));
    if (problem !== undefined) return problem;
    text = block.rest;
  }
}

/** The keys of certificates that follow each other; undefined is one that Go does not know. Throws a DerError. */
export function checkCertificates(der: Uint8Array, uriProblem: UriProblem): (PublicKey | undefined)[] {
  const all = new DerCursor(der);
  const keys: (PublicKey | undefined)[] = [];
  while (!all.isEmpty) keys.push(checkCertificate(all.open(sequence) ?? refuse("malformed certificate"), uriProblem));
  return keys;
}

function checkCertificate(certificate: DerCursor, uriProblem: UriProblem): PublicKey | undefined {
  const body = certificate.open(sequence) ?? refuse("malformed tbs certificate");
  const version = readVersion(body);
  const serial = body.integer() ?? refuse("malformed serial number");
  if ((serial[0] ?? 0) >= 0x80) refuse("negative serial number");
  const algorithm = body.read(sequence) ?? refuse("malformed signature algorithm identifier");
  const outer = certificate.read(sequence) ?? refuse("malformed algorithm identifier");
  if (Buffer.compare(algorithm, outer) !== 0) refuse("inner and outer signature algorithm identifiers don't match");
  readAlgorithm(algorithm);
  checkName(body.open(sequence) ?? refuse("malformed issuer"));
  checkValidity(body.open(sequence) ?? refuse("malformed validity"));
  checkName(body.open(sequence) ?? refuse("malformed issuer"));
  const key = readKey(body.open(sequence) ?? refuse("malformed spki"));
  if (version > 1) checkExtensions(body, version, uriProblem);
  if (certificate.bits() === undefined) refuse("malformed signature");
  return key;
}

/** 1 to 3; a certificate without a version is of the first. */
function readVersion(body: DerCursor): number {
  if (!body.isNext(0xa0)) return 1;
  const field = body.open(0xa0) ?? refuse("malformed version");
  const number = field.integer() ?? refuse("malformed version");
  if (!field.isEmpty || number.length > 8 || (number[0] ?? 0) >= 0x80) refuse("malformed version");
  const [version = 0] = number;
  return number.length > 1 || version > 2 ? refuse("invalid version") : version + 1;
}

function readAlgorithm(der: Uint8Array): { readonly id: string; readonly parameters: Uint8Array } {
  const fields = new DerCursor(der);
  const id = fields.oid() ?? refuse("malformed OID");
  if (fields.isEmpty) return { id, parameters: none };
  return { id, parameters: (fields.any() ?? refuse("malformed parameters")).whole };
}

const wrongName = "invalid RDNSequence";

function checkName(names: DerCursor): void {
  while (!names.isEmpty) {
    const set = names.open(0x31) ?? refuse(wrongName);
    while (!set.isEmpty) {
      const attribute = set.open(sequence) ?? refuse(`${wrongName}: invalid attribute`);
      if (attribute.oid() === undefined) refuse(`${wrongName}: invalid attribute type`);
      const value = attribute.any() ?? refuse(`${wrongName}: invalid attribute value`);
      checkText(value.tag, value.content);
    }
  }
}

const textTypes: Readonly<Record<number, readonly [name: string, isValid: (content: Uint8Array) => boolean]>> = {
  12: ["UTF-8 string", isUtf8],
  18: ["NumericString", isNumeric],
  19: ["PrintableString", isPrintable],
  20: ["T61String", () => true],
  22: ["IA5String", isAscii],
  30: ["BMPString", isBmp],
};

function checkText(tag: number, content: Uint8Array): void {
  const type = textTypes[tag] ?? refuse(`${wrongName}: invalid attribute value: unsupported string type: ${tag}`);
  if (!type[1](content)) refuse(`${wrongName}: invalid attribute value: invalid ${type[0]}`);
}

function checkValidity(times: DerCursor): void {
  for (let count = 0; count < 2; count += 1) {
    if (times.isNext(0x17)) {
      if (!isTime(times.read(0x17), /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-]\d{4})$/))
        refuse("malformed UTCTime");
    } else if (times.isNext(0x18)) {
      const isValid = isTime(times.read(0x18), /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(Z|[+-]\d{4})$/);
      if (!isValid) refuse("malformed GeneralizedTime");
    } else refuse("unsupported time format");
  }
}

/** Whether a time exists in the calendar and is written as it would be printed again. */
function isTime(content: Uint8Array | undefined, form: RegExp): boolean {
  const found = form.exec(Buffer.from(content ?? none).toString("latin1"));
  if (found === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  // Two digits are 1969 to 2068 to Go.
  const full = found[1]?.length === 2 ? year + (year >= 69 ? 1900 : 2000) : year;
  const days = new Date(Date.UTC(2000, 0, 1));
  days.setUTCFullYear(full, month, 0);
  const isZone = found[7] === "Z" || isOffset(found[7] ?? "");
  return (
    isZone &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= days.getUTCDate() &&
    hour < 24 &&
    minute < 60 &&
    second < 60
  );
}

/** No offset is written as Z. */
function isOffset(text: string): boolean {
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3))];
  return hours <= 24 && minutes < 60 && hours + minutes > 0;
}

function readKey(info: DerCursor): PublicKey | undefined {
  const algorithm = info.read(sequence) ?? refuse("malformed public key algorithm identifier");
  const { id, parameters } = readAlgorithm(algorithm);
  return readPublicKey(id, parameters, info.bits() ?? refuse("malformed subjectPublicKey"));
}

interface Extension {
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Uint8Array;
}

function checkExtensions(body: DerCursor, version: number, uriProblem: UriProblem): void {
  if (body.isNext(0x81) && body.any() === undefined) refuse("malformed issuerUniqueID");
  if (body.isNext(0x82) && body.any() === undefined) refuse("malformed subjectUniqueID");
  if (version < 3 || !body.isNext(0xa3)) return;
  const list = body.open(0xa3)?.open(sequence) ?? refuse("malformed extensions");
  const all = new Map<string, Extension>();
  while (!list.isEmpty) {
    const extension = readExtension(list.open(sequence) ?? refuse("malformed extension"));
    const { id } = extension;
    if (all.has(id)) refuse(`certificate contains duplicate extension with OID "${id}"`);
    all.set(id, extension);
  }
  for (const [id, extension] of all) extensionChecks[id]?.(extension, uriProblem);
}

function readExtension(fields: DerCursor): Extension {
  const id = fields.oid() ?? refuse("malformed extension OID field");
  const isCritical = fields.isNext(0x01) && (fields.boolean() ?? refuse("malformed extension critical field"));
  return { id, isCritical, value: fields.read(0x04) ?? refuse("malformed extension value field") };
}

const open = (value: Uint8Array, problem: string): DerCursor => new DerCursor(value).open(sequence) ?? refuse(problem);

/** Reads all elements of a sequence; a reader without an answer refuses. */
function each(value: Uint8Array, problem: string, read: (list: DerCursor) => unknown): void {
  const list = open(value, problem);
  while (!list.isEmpty) if (read(list) === undefined) refuse(problem);
}

function checkBasicConstraints(value: Uint8Array): void {
  const fields = open(value, "invalid basic constraints");
  if (fields.isNext(0x01) && fields.boolean() === undefined) refuse("invalid basic constraints");
  const length = fields.isNext(0x02) ? fields.integer() : none;
  if (length === undefined || length.length > 8 || (length[0] ?? 0) >= 0x80) refuse("invalid basic constraints");
}

/** Names that an authority may or may not sign for; what they say is not looked at. */
function checkNameConstraints(value: Uint8Array): void {
  const outer = new DerCursor(value);
  const fields = outer.open(sequence) ?? refuse(wrongConstraints);
  if (!outer.isEmpty) refuse(wrongConstraints);
  const lists = [0xa0, 0xa1].map((tag) => (fields.isNext(tag) ? (fields.read(tag) ?? refuse(wrongConstraints)) : none));
  if (!fields.isEmpty) refuse(wrongConstraints);
  if (lists.every((list) => list.length === 0)) refuse("empty name constraints extension");
  for (const list of lists.map((content) => new DerCursor(content))) {
    while (!list.isEmpty) if (list.open(sequence)?.any() === undefined) refuse(wrongConstraints);
  }
}

const wrongConstraints = "invalid NameConstraints extension";

function checkDistributionPoints(value: Uint8Array): void {
  const points = open(value, "invalid CRL distribution points");
  while (!points.isEmpty) {
    const point = points.open(sequence) ?? refuse("invalid CRL distribution point");
    if (!point.isNext(0xa0)) continue;
    const names = point.open(0xa0)?.open(0xa0) ?? refuse("invalid CRL distribution point");
    while (names.isNext(0x86)) if (names.any() === undefined) refuse("invalid CRL distribution point");
  }
}

function checkPolicyConstraints(value: Uint8Array): void {
  const fields = open(value, "invalid policy constraints extension");
  for (const tag of [0x80, 0x81]) {
    const isWrong = fields.isNext(tag) && (fields.integer(tag)?.length ?? 9) > 8;
    if (isWrong) refuse("invalid policy constraints extension");
  }
}

function notCritical({ isCritical }: Extension, name: string): void {
  if (isCritical) refuse(`${name} incorrectly marked critical`);
}

const extensionChecks: Readonly<Record<string, (extension: Extension, uriProblem: UriProblem) => void>> = {
  "2.5.29.14": (extension) => {
    notCritical(extension, "subject key identifier");
    if (new DerCursor(extension.value).read(0x04) === undefined) refuse("invalid subject key identifier");
  },
  "2.5.29.15": ({ value }) => {
    if (new DerCursor(value).bits() === undefined) refuse("invalid key usage");
  },
  "2.5.29.17": ({ value }, uriProblem) => {
    checkNames(value, uriProblem);
  },
  "2.5.29.19": ({ value }) => checkBasicConstraints(value),
  "2.5.29.30": ({ value }) => checkNameConstraints(value),
  "2.5.29.31": ({ value }) => checkDistributionPoints(value),
  "2.5.29.32": ({ value }) => each(value, "invalid certificate policies", (list) => list.open(sequence)?.oid()),
  "2.5.29.33": ({ value }) =>
    each(value, "invalid policy mappings extension", (list) => {
      const pair = list.open(sequence);
      return pair?.read(0x06) && pair.read(0x06);
    }),
  "2.5.29.35": (extension) => {
    notCritical(extension, "authority key identifier");
    const fields = open(extension.value, "invalid authority key identifier");
    if (fields.isNext(0x80) && fields.read(0x80) === undefined) refuse("invalid authority key identifier");
  },
  "2.5.29.36": ({ value }) => checkPolicyConstraints(value),
  "2.5.29.37": ({ value }) => each(value, "invalid extended key usages", (list) => list.oid()),
  "2.5.29.54": ({ value }) => {
    if ((new DerCursor(value).integer()?.length ?? 9) > 8) refuse("invalid inhibit any policy extension");
  },
  "1.3.6.1.5.5.7.1.1": (extension) => {
    notCritical(extension, "authority info access");
    each(extension.value, "invalid authority info access", (list) => list.open(sequence)?.oid());
  },
};
