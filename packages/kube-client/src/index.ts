// SPDX-License-Identifier: Apache-2.0
export { checkKubeconfig } from "./check-kubeconfig.ts";
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
export { type ClusterAccess, type CredentialSource, type Credentials, fixedCredentials } from "./cluster-access.ts";
export {
  createDirectTransport,
  type DirectRequest,
  type DirectResponse,
  type DirectServer,
  type DirectStream,
} from "./direct-transport.ts";
export { guardTransport } from "./guarded-transport.ts";
export { createHttpsTransport, type HttpsTransportOptions } from "./https-transport.ts";
export { inClusterAccess, serviceAccountDirectory } from "./in-cluster.ts";
export { type Informer, type InformerOptions, startInformer } from "./informer.ts";
export { createInformerPool, type InformerLease, type InformerPool } from "./informer-pool.ts";

export { accessFromKubeconfig, type Kubeconfig, type KubeconfigOptions } from "./kubeconfig.ts";
export type { CacheChange, IndexFunction } from "./object-cache.ts";
export { isNoMatch, NoMatchError, type RestMapper, type RestMapping, resourcePath } from "./rest-mapper.ts";
export type { KubeRequest, KubeResponse, KubeTransport } from "./transport.ts";
