// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import {
  createFunctionProcesses,
  type FunctionProcesses,
  type FunctionProcessesOptions,
  type SandboxSupport,
} from "@purlin/function-process";
import { createKubeClient, type KubeClient } from "@purlin/kube-client";
import { recordRequests, startTestServer } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import {
  buildImage,
  bundleCommand,
  bundleFunction,
  bundlePath,
  createRegistryClient,
  fileEntry,
  openContentStore,
  parseReference,
  pushPackage,
  runtimeLabel,
  startRegistry,
} from "@purlin/oci";
import type { ControlPlaneDeps } from "../src/control-plane.ts";
import { openPackageManagement } from "../src/packages/package-management.ts";
import { startControlPlane } from "../src/start-control-plane.ts";

/** An API server in this process. */
export interface EmbeddedApi extends AsyncDisposable {
  /** Straight to the server, as a user would. */
  readonly users: KubeClient;
  /** A client for a control plane. */
  connect(): KubeClient;
  /** The writes of control planes so far, as `METHOD path`. */
  readonly writes: string[];
}

/** Starts one; dispose of it in the end. */
export async function startEmbeddedApi(): Promise<EmbeddedApi> {
  const server = await startTestServer();
  const users = createKubeClient(server.connect());
  const clients: KubeClient[] = [];
  const writes: string[] = [];
  return {
    users,
    writes,
    connect() {
      const client = createKubeClient(recordRequests(server.connect("crossplane"), writes).transport);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await users.close();
      await server.stop();
    },
  };
}

/** A folder with a certificate for localhost, for servers and clients; it is removed in the end. */
interface TestCertificates extends Disposable {
  readonly directory: string;
}

/** Issues the certificate. */
export function testCertificates(): TestCertificates {
  const directory = mkdtempSync(join(tmpdir(), "purlin-certs-"));
  const authority = createAuthority({ commonName: "test" });
  const { certPem, keyPem } = issueCertificate(authority, {
    commonName: "localhost",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
    usages: ["server", "client"],
  });
  for (const [name, text] of Object.entries({ "ca.crt": authority.certPem, "tls.crt": certPem, "tls.key": keyPem })) {
    writeFileSync(join(directory, name), text);
  }
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

export const app = { apiVersion: "example.org/v1", kind: "App" };

/** A definition of namespaced Apps. */
export const appDefinition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name: "apps.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { kind: "App", plural: "apps" },
    versions: [
      {
        name: "v1",
        served: true,
        referenceable: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { text: { type: "string" } } },
              status: { type: "object", properties: { seen: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
};

export const appComposition: KubeObject = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "apps" },
  spec: {
    compositeTypeRef: app,
    mode: "Pipeline",
    pipeline: [{ step: "compose", functionRef: { name: "fn" } }],
  },
};

/** A Function under development that is reached at an address. */
export function functionAt(address: string): KubeObject {
  return {
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: {
      name: "fn",
      annotations: {
        "render.crossplane.io/runtime": "Development",
        "render.crossplane.io/runtime-development-target": address,
      },
    },
    spec: { package: "example.org/fn:v1" },
  };
}

/** The status of a condition, or undefined. */
export function conditionStatus(object: KubeObject, type: string): string | undefined {
  const status = object["status"] as { conditions?: readonly { type: string; status: string }[] } | undefined;
  return status?.conditions?.find((one) => one.type === type)?.status;
}

// A control plane as `purlin up` runs it, with one function whose versions a test makes.

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

/** Composes a ConfigMap with the version that composed it. */
const source = (version: string): string => `
import { response } from "@purlin/function-sdk";
export default (req) => {
  const rsp = response.to(req);
  const data = { version: ${JSON.stringify(version)} };
  response.setDesiredComposedResource(rsp, "map", { apiVersion: "v1", kind: "ConfigMap", data }, { ready: true });
  return rsp;
};
`;

/** A control plane whose functions are processes, and what users do with it. */
interface ProcessScene extends AsyncDisposable {
  readonly api: EmbeddedApi;
  readonly parts: ControlPlaneDeps;
  readonly processes: FunctionProcesses;
  /** Builds and pushes a version of the function, with the text of its module if that is not the usual one. */
  publish(version: string, text?: string): Promise<string>;
  /** Points the Function at a version. */
  install(version: string, spec?: object, labels?: Record<string, string>): Promise<void>;
}

/** What may be different. */
interface ProcessSceneOptions extends Pick<FunctionProcessesOptions, "clock" | "certificateDays" | "supervision"> {
  readonly functionRevisionSelectors?: boolean;
  /** That of the machine unless given. */
  readonly sandbox?: SandboxSupport;
}

/** Starts API server, registry and control plane. */
export async function startProcessScene(options: ProcessSceneOptions = {}): Promise<ProcessScene> {
  const { functionRevisionSelectors = false, clock, certificateDays, supervision, sandbox } = options;
  await using starting = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-packages-"));
  starting.defer(() => rmSync(directory, { recursive: true, force: true }));
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(directory, "fn/node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(directory, "fn/node_modules/@purlin/function-sdk"));
  const api = starting.use(await startEmbeddedApi());
  const registry = await startRegistry({ directory: join(directory, "registry") });
  starting.defer(() => registry.close());
  const env = { PATH: "/usr/bin:/bin" };
  const processes = createFunctionProcesses({
    directory: join(directory, "functions"),
    env,
    clock,
    certificateDays,
    supervision,
  });
  starting.defer(() => processes.close());
  const packages = await openPackageManagement({ directory, processes, functionRevisionSelectors, sandbox });
  const settings = { functionRevisionSelectors };
  const plane = startControlPlane({
    client: api.connect(),
    functions: { security: processes.security },
    packages,
    settings,
  });
  starting.defer(() => plane.stop());
  const parts = await plane.ready;
  const store = await openContentStore(join(directory, "build"));
  const client = createRegistryClient();
  const closing = starting.move();
  const name = (version: string): string => `${registry.address}/acme/fn:${version}`;
  return {
    api,
    parts,
    processes,
    async publish(version, text = source(version)) {
      writeFileSync(join(directory, "fn/fn.ts"), text);
      const { code } = await bundleFunction(join(directory, "fn/fn.ts"));
      const image = await buildImage(store, {
        platform: { os: "linux", architecture: process.arch === "x64" ? "amd64" : process.arch },
        process: { entrypoint: bundleCommand, cmd: [], env: [], workingDir: "/", user: "" },
        base: [],
        layers: [[fileEntry(bundlePath, code)]],
        packageYaml: `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n`,
        labels: { [runtimeLabel]: "node" },
      });
      return pushPackage(client, store, { images: [image], to: parseReference(name(version)) });
    },
    async install(version, spec = {}, labels = {}) {
      const object = { ...functionType, metadata: { name: "fn", labels }, spec: { package: name(version), ...spec } };
      await api.users.apply(object as KubeObject, { fieldManager: "user", force: true });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
