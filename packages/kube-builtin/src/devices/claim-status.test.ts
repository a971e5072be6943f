// SPDX-License-Identifier: Apache-2.0
// The status of ResourceClaims. The texts are those of kube-apiserver.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { claimStatusErrors, withoutDeallocated } from "./claim-status.ts";

const spec = { devices: { requests: [{ name: "gpu" }] } };
const result = (more: JsonObject = {}): JsonObject => ({
  request: "gpu",
  driver: "d.example.org",
  pool: "p",
  device: "gpu-0",
  ...more,
});
const device = (more: JsonObject = {}): JsonObject => ({
  driver: "d.example.org",
  pool: "p",
  device: "gpu-0",
  ...more,
});
const allocated = (...results: readonly JsonObject[]): JsonObject => ({
  allocation: { devices: { results: [...results] } },
});
const claim = (status: JsonObject, metadata: JsonObject = {}): JsonObject => ({ metadata, spec, status });

/** The errors of a status that replaces an empty one, or another. */
function errors(status: JsonObject, old: JsonObject = {}, metadata: JsonObject = {}): string[] {
  return claimStatusErrors(claim(status, metadata), claim(old)).map(fieldErrorText);
}

const user = (uid: string): JsonObject => ({ resource: "pods", name: `pod-${uid}`, uid });
const users = (count: number): JsonObject[] => Array.from({ length: count }, (_, index) => user(`u${index}`));

describe("the users of a claim", () => {
  const own = allocated(result());

  test("are up to 256, each once and complete", () => {
    assert.deepEqual(errors({ ...own, reservedFor: users(256) }), []);
    assert.deepEqual(errors({ ...own, reservedFor: users(257) }), [
      "status.reservedFor: Too many: 257: must have at most 256 items",
    ]);
    assert.deepEqual(errors({ ...own, reservedFor: [user("a"), user("a")] }), [
      'status.reservedFor[1]: Duplicate value: "a"',
    ]);
    assert.deepEqual(errors({ ...own, reservedFor: [{}] }), [
      "status.reservedFor[0].resource: Required value",
      "status.reservedFor[0].name: Required value",
      "status.reservedFor[0].uid: Required value",
    ]);
  });

  test("need an allocation", () => {
    assert.deepEqual(errors({ reservedFor: users(1) }), [
      "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
    ]);
    assert.deepEqual(errors({ reservedFor: [] }), []);
  });

  test("are not added while the claim is being deleted, and can be removed", () => {
    const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    const before = { ...own, reservedFor: users(2) };
    const why =
      "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
    assert.deepEqual(errors({ ...own, reservedFor: users(3) }, before, deleted), [why]);
    assert.deepEqual(errors({ ...own, reservedFor: users(3) }, before), []);
    for (const count of [0, 1, 2]) assert.deepEqual(errors({ ...own, reservedFor: users(count) }, before, deleted), []);
  });
});

describe("an allocation", () => {
  const at = "status.allocation.devices";
  const source = { source: "FromClass", opaque: { driver: "d.example.org", parameters: {} } };
  const configured = (...config: readonly JsonObject[]): JsonObject => ({
    allocation: { devices: { results: [result()], config: [...config] } },
  });

  test("has results for requests of the claim", () => {
    assert.deepEqual(errors(allocated(result())), []);
    assert.deepEqual(errors(allocated(result({ request: "other", driver: "", pool: "" }))), [
      `${at}.results[0].request: Invalid value: "other": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'`,
      `${at}.results[0].driver: Required value`,
      `${at}.results[0].pool: Required value`,
    ]);
  });

  test("has up to 32 results and 64 configurations", () => {
    const results = (count: number): JsonObject[] =>
      Array.from({ length: count }, (_, index) => result({ device: `gpu-${index}` }));
    assert.deepEqual(errors(allocated(...results(32))), []);
    assert.deepEqual(errors(allocated(...results(33))), [`${at}.results: Too many: 33: must have at most 32 items`]);
    const config = (count: number): JsonObject[] => Array.from({ length: count }, () => source);
    assert.deepEqual(errors(configured(...config(64))), []);
    assert.deepEqual(errors(configured(...config(65))), [`${at}.config: Too many: 65: must have at most 64 items`]);
  });

  test("has configurations with a known source", () => {
    assert.deepEqual(errors(configured(source, { ...source, source: "FromClaim", requests: ["gpu"] })), []);
    assert.deepEqual(errors(configured({ ...source, source: "" })), [`${at}.config[0].source: Required value`]);
    assert.deepEqual(errors(configured({ ...source, source: "Other" })), [
      `${at}.config[0].source: Unsupported value: "Other": supported values: "FromClaim", "FromClass"`,
    ]);
    assert.deepEqual(errors(configured({ source: "FromClaim" })), [`${at}.config[0].opaque: Required value`]);
  });

  test("cannot be changed, and can be removed", () => {
    const before = allocated(result());
    const [error = "", ...more] = errors(allocated(result({ device: "gpu-1" })), before);
    assert.deepEqual(more, []);
    assert.match(error, /^status\.allocation: Invalid value: .*gpu-1.*: field is immutable$/);
    assert.deepEqual(errors(before, before), []);
    assert.deepEqual(errors({}, before), []);
    assert.deepEqual(errors({ allocation: null }, before), []);
  });

  test("that was stored is not validated again", () => {
    const odd = allocated(result({ request: "gone" }));
    assert.deepEqual(errors(odd, odd), []);
  });
});

describe("the identity of a share", () => {
  const id = "01234567-89ab-cdef-0123-456789abcdef";
  const plain =
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
  const format = "error validating uid: invalid UUID format";
  const cases: Readonly<Record<string, string | undefined>> = {
    [id]: undefined,
    [id.toUpperCase()]: plain,
    [id.replace("a", "g")]: format,
    [`urn:uuid:${id}`]: plain,
    [`urn:uuid:${id.replace("a", "g")}`]: format,
    [`urn:uuie:${id}`]: 'error validating uid: invalid urn prefix: "urn:uuie:"',
    [`{${id}}`]: plain,
    [`{${id})`]: "error validating uid: invalid bracketed UUID format",
    [id.replaceAll("-", "")]: plain,
    [`${id.replaceAll("-", "").slice(1)}x`]: format,
    "": "error validating uid: invalid UUID length: 0",
    [`${id}0`]: "error validating uid: invalid UUID length: 37",
    ü: "error validating uid: invalid UUID length: 2",
  };
  for (const [shareID, problem] of Object.entries(cases)) {
    test(JSON.stringify(shareID), () => {
      const at = "status.allocation.devices.results[0].shareID";
      const want = problem === undefined ? [] : [`${at}: Invalid value: ${JSON.stringify(shareID)}: ${problem}`];
      assert.deepEqual(errors(allocated(result({ shareID }))), want);
    });
  }
});

describe("the report of a driver", () => {
  const own = allocated(result());
  const report = (...devices: readonly JsonObject[]): string[] => errors({ ...own, devices: [...devices] }, own);
  const network = (networkData: JsonObject): string[] => report(device({ networkData }));
  const at = "status.devices[0]";

  test("is about a device of the claim, once", () => {
    assert.deepEqual(report(device()), []);
    assert.deepEqual(report(device({ device: "gpu-1" })), [
      `${at}: Invalid value: {"Driver":"d.example.org","Pool":"p","Device":"gpu-1","ShareID":""}: must be an allocated device in the claim`,
    ]);
    assert.deepEqual(report(device(), device()), [
      'status.devices[1]: Duplicate value: {"Driver":"d.example.org","Pool":"p","Device":"gpu-0","ShareID":""}',
    ]);
  });

  test("has up to eight conditions, and data that is an object", () => {
    const conditions = (count: number): JsonObject[] =>
      Array.from({ length: count }, (_, index) => ({
        type: `T${index}`,
        status: "True",
        reason: "R",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      }));
    assert.deepEqual(report(device({ conditions: conditions(8) })), []);
    assert.deepEqual(report(device({ conditions: conditions(9) })), [
      `${at}.conditions: Too many: 9: must have at most 8 items`,
    ]);
    for (const data of [null, { a: 1 }]) assert.deepEqual(report(device({ data })), []);
    assert.deepEqual(report(device({ data: 1 })), [
      `${at}.data: Invalid value: "<value omitted>": must be a valid JSON object`,
    ]);
  });

  test("has names of interfaces and hardware addresses of limited length", () => {
    const of = (name: number, hardware: number): string[] =>
      network({ interfaceName: "x".repeat(name), hardwareAddress: "x".repeat(hardware) });
    assert.deepEqual(of(256, 128), []);
    assert.deepEqual(of(257, 129), [
      `${at}.networkData.interfaceName: Too long: may not be more than 256 bytes`,
      `${at}.networkData.hardwareAddress: Too long: may not be more than 128 bytes`,
    ]);
  });

  const path = `${at}.networkData.ips`;
  const canonical = (text: string, form: string): string[] => [
    `${path}[0]: Invalid value: "${text}": must be in canonical form ("${form}")`,
  ];
  const invalid = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
  const addresses: Readonly<Record<string, readonly string[]>> = {
    "10.9.8.7/24": [],
    "2001:db8::1/64": [],
    "2001:DB8::1/64": canonical("2001:DB8::1/64", "2001:db8::1/64"),
    "2001:db8:0:0::1/64": canonical("2001:db8:0:0::1/64", "2001:db8::1/64"),
    "::ffff:10.0.0.1/120": canonical("::ffff:10.0.0.1/120", "10.0.0.1/24"),
    "10.9.8.7": [`${path}[0]: Invalid value: "10.9.8.7": ${invalid}`],
    "10.9.8.7/33": [`${path}[0]: Invalid value: "10.9.8.7/33": ${invalid}`],
    "": [`${path}[0]: Invalid value: "": ${invalid}`],
  };
  for (const [ip, want] of Object.entries(addresses)) {
    test(`address ${JSON.stringify(ip)}`, () => assert.deepEqual(network({ ips: [ip] }), want));
  }

  test("has up to 16 addresses, each once", () => {
    const ips = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.0.0.${index}/24`);
    assert.deepEqual(network({ ips: ips(16) }), []);
    assert.deepEqual(network({ ips: ips(17) }), [`${path}: Too many: 17: must have at most 16 items`]);
    assert.deepEqual(network({ ips: ["10.0.0.1/8", "10.0.0.1/8"] }), [`${path}[1]: Duplicate value: "10.0.0.1/8"`]);
  });
});

describe("reports about devices that a claim no longer has", () => {
  const two = [result(), result({ device: "gpu-1" })] as const;
  const both = { devices: [device(), device({ device: "gpu-1" })] };
  const old = claim({ ...allocated(...two), ...both });

  test("go with the devices", () => {
    const now = claim({ ...allocated(two[0]), ...both });
    const copy = structuredClone(now);
    assert.deepEqual(withoutDeallocated(now, old)["status"], { ...allocated(two[0]), devices: [device()] });
    assert.deepEqual(now, copy);
    assert.deepEqual(withoutDeallocated(claim(both), old)["status"], {});
  });

  test("stay when no device was taken, also those of devices that it never had", () => {
    const same = claim({ ...allocated(...two), devices: [device({ device: "x" })] });
    assert.equal(withoutDeallocated(same, old), same);
    const none = claim({});
    assert.equal(withoutDeallocated(none, old), none);
  });
});
