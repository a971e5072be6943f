// SPDX-License-Identifier: Apache-2.0

export {
  type ApplyOptions,
  type CallOptions,
  createKubeClient,
  type DeleteOptions,
  type KubeClient,
  type KubeReader,
  type KubeWriter,
  type ListOptions,
  type PatchOptions,
  patchTypes,
  type WatchOptions,
  type WriteOptions,
} from "./client.ts";
export {
  type ClusterAccess,
  type CredentialSource,
  type Credentials,
  fixedCredentials,
  inClusterAccess,
  serviceAccountDirectory,
} from "./cluster-access.ts";
export { createHttpsTransport, type HttpsTransportOptions } from "./https-transport.ts";
export { type Informer, type InformerOptions, startInformer } from "./informer.ts";
export { createInformerPool, type InformerLease, type InformerPool } from "./informer-pool.ts";
export { accessFromKubeconfig, checkKubeconfig, type Kubeconfig, type KubeconfigOptions } from "./kubeconfig.ts";
export type { CacheChange, IndexFunction } from "./object-cache.ts";
export { openPortForward, type PortForwardTarget, portForwardPath } from "./port-forward.ts";
export {
  isNoMatch,
  isNotServed,
  isServed,
  NoMatchError,
  type RestMapper,
  type RestMapping,
  resourcePath,
} from "./rest-mapper.ts";
export {
  createDirectTransport,
  type DirectRequest,
  type DirectResponse,
  type DirectServer,
  type DirectStream,
  guardTransport,
  type KubeRequest,
  type KubeResponse,
  type KubeTransport,
} from "./transport.ts";
