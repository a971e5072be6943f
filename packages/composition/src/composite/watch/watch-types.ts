// SPDX-License-Identifier: Apache-2.0
// The watches of a composite controller by purpose, as metrics name them.

/** On the kind of the XRs themselves. */
export const compositeWatch = "CompositeResource";
/** On revisions of Compositions. */
export const revisionWatch = "CompositionRevision";
/** On everything XRs composed or required. */
export const dependencyWatch = "Dependency";
