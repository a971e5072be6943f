// SPDX-License-Identifier: Apache-2.0
// A control plane as `purlin up` runs it, with one function whose versions a test makes.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createFunctionProcesses,
  type FunctionProcesses,
  type FunctionProcessesOptions,
} from "@purlin/function-process";
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
import { type EmbeddedApi, startEmbeddedApi } from "./embedded-api.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };

/** Composes a ConfigMap that tells which version composed it. */
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
  /** Builds and pushes a version of the function. */
  publish(version: string): Promise<string>;
  /** Points the Function at a version. */
  install(version: string, spec?: object, labels?: Record<string, string>): Promise<void>;
}

/** What may be different. */
interface ProcessSceneOptions extends Pick<FunctionProcessesOptions, "clock" | "certificateDays"> {
  readonly functionRevisionSelectors?: boolean;
}

/** Starts API server, registry and control plane. */
export async function startProcessScene(options: ProcessSceneOptions = {}): Promise<ProcessScene> {
  const { functionRevisionSelectors = false, clock, certificateDays } = options;
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
  });
  starting.defer(() => processes.close());
  const packages = await openPackageManagement({ directory, processes, functionRevisionSelectors });
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
    async publish(version) {
      writeFileSync(join(directory, "fn/fn.ts"), source(version));
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
