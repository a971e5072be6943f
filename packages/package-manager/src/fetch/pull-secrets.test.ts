// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { isPullSecretError } from "@purlin/oci";
import { type PullSecretSource, readPullSecrets } from "./package-client.ts";

const namespace = "crossplane-system";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const config = (user: string): string => JSON.stringify({ auths: { "r.io": { username: user, password: "p" } } });
const secret = (data: Record<string, string>): KubeObject =>
  ({ apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace }, data }) as KubeObject;
const account = (names: unknown): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "crossplane" },
    imagePullSecrets: names,
  }) as KubeObject;

/** A source of objects by `Kind name`. */
function source(objects: Record<string, KubeObject>, serviceAccount?: string): PullSecretSource & { asked: string[] } {
  const asked: string[] = [];
  return {
    namespace,
    serviceAccount,
    asked,
    client: {
      get: async (type, key) => {
        asked.push(`${type.kind} ${key.namespace}/${key.name}`);
        return objects[`${type.kind} ${key.name}`];
      },
    },
  };
}

const dockerconfig = secret({ ".dockerconfigjson": base64(config("new")) });
const rows: {
  why: string;
  objects: Record<string, KubeObject>;
  names: string[];
  account?: string;
  user: string | undefined;
}[] = [
  { why: "none at all", objects: {}, names: [], user: undefined },
  { why: "as they are written now", objects: { "Secret s": dockerconfig }, names: ["s"], user: "new" },
  {
    why: "as they were written once",
    objects: { "Secret s": secret({ ".dockercfg": base64(JSON.stringify({ "r.io": { auth: base64("old:p") } })) }) },
    names: ["s"],
    user: "old",
  },
  {
    why: "the first that has the registry",
    objects: {
      "Secret other": secret({ ".dockerconfigjson": base64('{"auths": {"x.io": {"username": "x"}}}') }),
      "Secret s": dockerconfig,
      "Secret t": secret({ ".dockerconfigjson": base64(config("later")) }),
    },
    names: ["other", "s", "t"],
    user: "new",
  },
  {
    why: "those of the control plane's own account",
    objects: { "ServiceAccount crossplane": account([{ name: "s" }]), "Secret s": dockerconfig },
    names: [],
    account: "crossplane",
    user: "new",
  },
  {
    why: "the package's own come first",
    objects: {
      "ServiceAccount crossplane": account([{ name: "s" }]),
      "Secret s": dockerconfig,
      "Secret own": secret({ ".dockerconfigjson": base64(config("own")) }),
    },
    names: ["own"],
    account: "crossplane",
    user: "own",
  },
  {
    why: "an account that names a secret that is not there, as clusters do",
    objects: { "ServiceAccount crossplane": account([{ name: "gone" }, {}, "x"]) },
    names: [],
    account: "crossplane",
    user: undefined,
  },
  { why: "an account that is not there", objects: {}, names: [], account: "crossplane", user: undefined },
  {
    why: "an account without secrets",
    objects: { "ServiceAccount crossplane": account(undefined) },
    names: [],
    account: "crossplane",
    user: undefined,
  },
];
for (const { why, objects, names, account: name, user } of rows) {
  test(`pull secrets: ${why}`, async () => {
    const credentials = await readPullSecrets(source(objects, name), names);
    assert.equal((await credentials("r.io/acme/f"))?.username, user);
  });
}

test("a secret is read in the control plane's namespace, and once", async () => {
  const from = source(
    { "ServiceAccount crossplane": account([{ name: "s" }]), "Secret s": dockerconfig },
    "crossplane",
  );
  await readPullSecrets(from, ["s", "s"]);
  assert.deepEqual(from.asked, [`ServiceAccount ${namespace}/crossplane`, `Secret ${namespace}/s`]);
});

const refused: { why: string; objects: Record<string, KubeObject>; says: RegExp; isPullSecret?: boolean }[] = [
  { why: "it is not there", objects: {}, says: /^cannot get pull secret: Secret "s" not found in crossplane-system$/ },
  {
    why: "it is another kind of secret",
    objects: { "Secret s": secret({ password: "eA==" }) },
    says: /^Secret crossplane-system\/s: a pull secret holds \.dockerconfigjson; this one does not$/,
  },
  {
    why: "it is not JSON",
    objects: { "Secret s": secret({ ".dockerconfigjson": base64("{") }) },
    says: /^Secret crossplane-system\/s: it is not JSON$/,
    isPullSecret: true,
  },
  {
    why: "the old one is not JSON",
    objects: { "Secret s": secret({ ".dockercfg": base64("{") }) },
    says: /^Secret crossplane-system\/s: it is not JSON$/,
    isPullSecret: true,
  },
];
for (const { why, objects, says, isPullSecret = false } of refused) {
  test(`a pull secret that cannot be used: ${why}`, async () => {
    await assert.rejects(
      readPullSecrets(source(objects), ["s"]),
      (error: Error) => says.test(error.message) && isPullSecretError(error) === isPullSecret,
    );
  });
}
