// SPDX-License-Identifier: Apache-2.0
// Security contexts of containers. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { containerSecurity } from "./security.ts";

type Case = readonly [name: string, object: JsonObject, want: readonly string[]];

const ofContainer = (securityContext: JsonObject, spec: JsonObject = {}): string[] =>
  containerSecurity(spec)({ securityContext }, "c").map(fieldErrorText);
const idText = "must be between 0 and 2147483647, inclusive";
const profiles = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"';

const contexts: readonly Case[] = [
  ["an empty context", {}, []],
  ["the lowest and the highest id", { runAsUser: 0, runAsGroup: 2147483647 }, []],
  [
    "ids out of range",
    { runAsUser: -1, runAsGroup: 2147483648 },
    [
      `c.securityContext.runAsUser: Invalid value: -1: ${idText}`,
      `c.securityContext.runAsGroup: Invalid value: 2147483648: ${idText}`,
    ],
  ],
  [
    "an id beyond 2^53",
    { runAsUser: 9223372036854775807n },
    [`c.securityContext.runAsUser: Invalid value: 9223372036854775807: ${idText}`],
  ],
  [
    "a seccomp profile without a type",
    { seccompProfile: {} },
    ["c.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set"],
  ],
  [
    "a seccomp profile of an unknown type",
    { seccompProfile: { type: "runtime" } },
    [`c.securityContext.seccompProfile.type: Unsupported value: "runtime": ${profiles}`],
  ],
  ["a seccomp profile of the node", { seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" } }, []],
  [
    "a seccomp profile of the node without a file",
    { seccompProfile: { type: "Localhost" } },
    ["c.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"],
  ],
  [
    "a seccomp file outside its directory",
    { seccompProfile: { type: "Localhost", localhostProfile: "/a/../b" } },
    [
      'c.securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": must be a relative path',
      `c.securityContext.seccompProfile.localhostProfile: Invalid value: "/a/../b": must not contain '..'`,
    ],
  ],
  [
    "a seccomp file for another type, printed with the profile",
    { seccompProfile: { type: "Unconfined", localhostProfile: "a" } },
    [
      'c.securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost',
    ],
  ],
  [
    "an AppArmor profile without a type",
    { appArmorProfile: {} },
    ["c.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set"],
  ],
  [
    "an AppArmor profile of an unknown type",
    { appArmorProfile: { type: "x", localhostProfile: "a" } },
    [`c.securityContext.appArmorProfile.type: Unsupported value: "x": ${profiles}`],
  ],
  ["an AppArmor profile of the runtime", { appArmorProfile: { type: "RuntimeDefault" } }, []],
  [
    "an AppArmor profile of the runtime with a name",
    { appArmorProfile: { type: "RuntimeDefault", localhostProfile: "a" } },
    [
      'c.securityContext.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost',
    ],
  ],
  [
    "an AppArmor profile of the node without a name",
    { appArmorProfile: { type: "Localhost" } },
    ["c.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost"],
  ],
  [
    "an AppArmor profile of the node with an empty name",
    { appArmorProfile: { type: "Localhost", localhostProfile: "" } },
    ["c.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost"],
  ],
  [
    "an AppArmor profile with spaces around its name",
    { appArmorProfile: { type: "Localhost", localhostProfile: " a" } },
    ['c.securityContext.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace'],
  ],
  [
    "an AppArmor profile of 4095 bytes",
    { appArmorProfile: { type: "Localhost", localhostProfile: "a".repeat(4095) } },
    [],
  ],
  [
    "an AppArmor profile of 4096 bytes in fewer characters",
    { appArmorProfile: { type: "Localhost", localhostProfile: "é".repeat(2048) } },
    ["c.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes"],
  ],
  ["the default mount of /proc", { procMount: "Default" }, []],
  [
    "an unknown mount of /proc",
    { procMount: "x" },
    ['c.securityContext.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"'],
  ],
  [
    "an unmasked /proc with the users of the host",
    { procMount: "Unmasked" },
    ['c.securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
  ],
];

for (const [name, context, want] of contexts) {
  test(`the security context of a container: ${name}`, () => {
    assert.deepEqual(ofContainer(context), want);
  });
}

test("an unmasked /proc is accepted in a Pod with users of its own", () => {
  assert.deepEqual(ofContainer({ procMount: "Unmasked" }, { hostUsers: false }), []);
});

test("a container that may not gain privileges does not have them", () => {
  const context = {
    privileged: true,
    allowPrivilegeEscalation: false,
    capabilities: { add: ["CAP_SYS_ADMIN", "SYS_ADMIN"] },
    seLinuxOptions: { level: "s0" },
    seccompProfile: { type: "RuntimeDefault" },
  };
  const printed =
    '{"Capabilities":{"Add":["CAP_SYS_ADMIN","SYS_ADMIN"],"Drop":null},"Privileged":true,"SELinuxOptions":{"User":"","Role":"","Type":"","Level":"s0"},"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":{"Type":"RuntimeDefault","LocalhostProfile":null},"AppArmorProfile":null}';
  const start = `c.securityContext: Invalid value: ${printed}: cannot set \`allowPrivilegeEscalation\` to false and`;
  assert.deepEqual(ofContainer(context), [
    `${start} \`privileged\` to true`,
    `${start} \`capabilities.Add\` CAP_SYS_ADMIN`,
  ]);
  assert.deepEqual(ofContainer({ ...context, allowPrivilegeEscalation: true }), []);
  assert.deepEqual(ofContainer({ allowPrivilegeEscalation: false, privileged: false }), []);
});

const user = (runAsUserName: string): string[] =>
  ofContainer({ windowsOptions: { runAsUserName } }).map((text) =>
    text.replace(`c.securityContext.windowsOptions.runAsUserName: Invalid value: ${goQuote(runAsUserName)}: `, ""),
  );

const netBios = "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
const users: Readonly<Record<string, readonly string[]>> = {
  Administrator: [],
  "": ["runAsUserName cannot be an empty string"],
  "a\tb": ["runAsUserName cannot contain control characters"],
  "a\u007fb": ["runAsUserName cannot contain control characters"],
  "a\\b\\c": ["runAsUserName cannot contain more than one backslash"],
  "DOMAIN\\user": [],
  "example.org\\user": [],
  "äöü\\user": [],
  [`${"n".repeat(15)}\\user`]: [],
  [`${"_".repeat(16)}\\user`]: [netBios],
  "\\user": [netBios],
  ".dot\\user": [netBios],
  "a:b\\user": [netBios],
  [`${"a.".repeat(127)}a\\user`]: [],
  [`${"a.".repeat(127)}aa\\user`]: ["runAsUserName's Domain length must be under 256 characters"],
  "DOMAIN\\": ["runAsUserName's User cannot be empty"],
  ["u".repeat(104)]: [],
  ["u".repeat(105)]: ["runAsUserName's User length must not be longer than 104 characters"],
  ". .": ["runAsUserName's User cannot contain only periods or spaces"],
  "a b": [],
  "a@b": [`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`],
};

for (const [name, want] of Object.entries(users)) {
  test(`a user of Windows: ${JSON.stringify(name).slice(0, 40)}`, () => {
    assert.deepEqual(user(name), want);
  });
}

test("the domain of a user of Windows has 15 characters, however many code units they have", () => {
  assert.deepEqual(user(`${"😀".repeat(15)}\\user`), []);
  assert.deepEqual(user(`${"😀".repeat(16)}\\user`), [netBios]);
});

test("credentials of Windows are neither empty nor longer than 64 KiB", () => {
  const at = "c.securityContext.windowsOptions";
  const spec = (gmsaCredentialSpec: string): string[] => ofContainer({ windowsOptions: { gmsaCredentialSpec } });
  assert.deepEqual(spec("x".repeat(65_536)), []);
  const long = "x".repeat(65_537);
  assert.equal(spec(long).length, 1);
  assert.ok(spec(long)[0]?.endsWith(": gmsaCredentialSpec size must be under 64 KiB"));
  assert.deepEqual(spec(""), [
    `${at}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
  ]);
  const [problem] = ofContainer({ windowsOptions: { gmsaCredentialSpecName: "A" } });
  assert.match(
    String(problem),
    /^c\.securityContext\.windowsOptions\.gmsaCredentialSpecName: Invalid value: "A": a lowercase RFC 1123 subdomain/,
  );
});

test("a security context of the wrong type is not read", () => {
  const odd: readonly JsonValue[] = [null, 7, "x", []];
  for (const securityContext of odd) assert.deepEqual(containerSecurity({})({ securityContext }, "c"), []);
});
