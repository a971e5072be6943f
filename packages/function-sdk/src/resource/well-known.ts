// SPDX-License-Identifier: Apache-2.0

/** Context key of the composition environment, an object. */
export const KEY_ENVIRONMENT = "apiextensions.crossplane.io/environment";

/** Context key under which functions hand on resources they selected: an object of lists. */
export const KEY_EXTRA_RESOURCES = "apiextensions.crossplane.io/extra-resources";

/** Requirement name of the object that triggered a WatchOperation. */
export const WATCHED_RESOURCE = "ops.crossplane.io/watched-resource";
