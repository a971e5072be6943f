// SPDX-License-Identifier: Apache-2.0
// grpcurl, written in Go on top of grpc-go, calls a function made with our SDK.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { purlinFunction } from "../../tools/peers/function-commands.ts";
import { type FunctionProcess, startFunction } from "../../tools/peers/function-process.ts";
import { type CertificateFiles, createCertificateFiles } from "./certificate-files.ts";
import { type GrpcurlResult, grpcurl, withCertificates } from "./grpcurl.ts";

const storefront = join(import.meta.dirname, "functions", "storefront.ts");
const services = {
  v1: "apiextensions.fn.proto.v1.FunctionRunnerService",
  v1beta1: "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
  health: "grpc.health.v1.Health",
};

let certificates: CertificateFiles;
let secured: FunctionProcess;
let plaintext: FunctionProcess;

before(async () => {
  certificates = createCertificateFiles();
  secured = await startFunction(purlinFunction(storefront, { certsDir: certificates.server }));
  plaintext = await startFunction(purlinFunction(storefront, { insecure: true }));
});

after(async () => {
  const exits = await Promise.all([secured?.stop(), plaintext?.stop()]);
  certificates?.[Symbol.dispose]();
  assert.deepEqual(exits, [
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
});

/** Calls with the data given, if any: grpcurl wants flags before the address and everything else after it. */
type Call = (words: readonly string[], data?: object) => Promise<GrpcurlResult>;

const dataFlags = (data?: object): string[] => (data === undefined ? [] : ["-d", JSON.stringify(data)]);

const transports: Record<string, Call> = {
  "mutual TLS": (words, data) =>
    grpcurl(...withCertificates(certificates.client), ...dataFlags(data), `localhost:${secured.port}`, ...words),
  plaintext: (words, data) => grpcurl("-plaintext", ...dataFlags(data), `127.0.0.1:${plaintext.port}`, ...words),
};

const request = {
  meta: { tag: "from-grpcurl", capabilities: ["CAPABILITY_CAPABILITIES", "CAPABILITY_REQUIRED_RESOURCES"] },
  observed: {
    composite: {
      resource: {
        apiVersion: "example.org/v1",
        kind: "Storefront",
        metadata: { name: "shop", namespace: "team-blue" },
        spec: { replicas: 3 },
      },
    },
  },
  desired: { resources: { kept: { resource: { apiVersion: "v1", kind: "Secret", data: { "a.b": null } } } } },
  input: { step: "one", config: "app-config" },
  context: { "interop.example.org/trail": ["zero"] },
  credentials: { registry: { credentialData: { data: { user: "cm9ib3Q=" } } } },
  requiredResources: {
    config: { items: [{ resource: { metadata: { name: "app-config" }, data: { image: "shop:1" } } }] },
    backends: { items: [] },
  },
};

for (const [transport, call] of Object.entries(transports)) {
  describe(`grpcurl over ${transport}`, () => {
    test("lists the services by reflection", async () => {
      const { stdout, stderr, code } = await call(["list"]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.trim().split("\n"), [
        services.v1,
        services.v1beta1,
        services.health,
        "grpc.reflection.v1.ServerReflection",
      ]);
    });

    for (const version of ["v1", "v1beta1"] as const) {
      test(`describes ${version} by reflection`, async () => {
        const service = await call(["describe", services[version]]);
        assert.equal(service.code, 0, service.stderr);
        const type = `.apiextensions.fn.proto.${version}`;
        const method = `rpc RunFunction ( ${type}.RunFunctionRequest ) returns ( ${type}.RunFunctionResponse );`;
        assert.ok(service.stdout.includes(method), service.stdout);

        const message = await call(["describe", `apiextensions.fn.proto.${version}.Requirements`]);
        assert.match(message.stdout, /map<string, .*\.ResourceSelector> extra_resources = 1 \[deprecated = true\];/);
        assert.match(message.stdout, /map<string, .*\.ResourceSelector> resources = 2;/);
        assert.match(message.stdout, /map<string, .*\.SchemaSelector> schemas = 3;/);
      });

      test(`runs the function by ${version}`, async () => {
        const answer = await call([`${services[version]}/RunFunction`], request);
        assert.equal(answer.code, 0, answer.stderr);
        assert.deepEqual(JSON.parse(answer.stdout), expected);
      });
    }

    for (const service of ["", services.v1, services.v1beta1]) {
      test(`asks for the health of ${service || "the server"}`, async () => {
        const answer = await call([`${services.health}/Check`], { service });
        assert.equal(answer.code, 0, answer.stderr);
        assert.deepEqual(JSON.parse(answer.stdout), { status: "SERVING" });
      });
    }

    test("asks for the health of a service there is none of", async () => {
      const { code, stderr } = await call([`${services.health}/Check`], { service: "no.such.Service" });
      assert.notEqual(code, 0);
      assert.match(stderr, /Code: NotFound/);
    });

    test("gets a fatal result, not a status, from a function that throws", async () => {
      const answer = await call([`${services.v1}/RunFunction`], { meta: { tag: "empty" } });
      assert.equal(answer.code, 0, answer.stderr);
      const { meta, results } = JSON.parse(answer.stdout) as typeof expected;
      assert.equal(meta.tag, "empty");
      assert.deepEqual(
        results.map(({ severity }) => severity),
        ["SEVERITY_FATAL"],
      );
    });
  });
}

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { labels: { app: "storefront" } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "storefront" } },
    template: {
      metadata: { labels: { app: "storefront" } },
      spec: { containers: [{ name: "web", image: "shop:1" }] },
    },
  },
};

const selector = { apiVersion: "v1", kind: "ConfigMap", namespace: "team-blue" };

const expected = {
  meta: { tag: "from-grpcurl", ttl: "60s" },
  desired: {
    composite: {
      resource: {
        status: {
          image: "shop:1",
          capabilities: [1, 2],
          replicasType: "unknown",
          nothing: "unknown",
          backends: [],
          registryUser: "robot",
        },
      },
    },
    resources: {
      deployment: { resource: deployment, ready: "READY_FALSE" },
      kept: { resource: { apiVersion: "v1", kind: "Secret", data: { "a.b": null } } },
    },
  },
  results: [
    {
      severity: "SEVERITY_WARNING",
      message: "schemas are not supported by this control plane",
      target: "TARGET_COMPOSITE",
    },
    {
      severity: "SEVERITY_NORMAL",
      message: "composed a Deployment with 3 replicas",
      reason: "Composed",
      target: "TARGET_COMPOSITE",
    },
  ],
  context: { "interop.example.org/trail": ["zero", "one"] },
  requirements: {
    resources: {
      config: { ...selector, matchName: "app-config" },
      backends: { ...selector, matchLabels: { labels: { tier: "backend" } } },
    },
  },
  conditions: [
    {
      type: "ConfigReady",
      status: "STATUS_CONDITION_TRUE",
      reason: "Found",
      message: "using image shop:1",
      target: "TARGET_COMPOSITE_AND_CLAIM",
    },
  ],
};
