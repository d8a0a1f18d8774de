// Package history keeps what is worth knowing about Ray objects after they have ended: the object with its status and conditions,
// its events and Pods, the details of its Ray job, the logs of the driver and of Ray's nodes, and what Ray's dashboard showed. The
// operator writes, the gateway reads. The store is a bucket of gocloud.dev/blob: a folder, S3 and compatible services, or those that
// package drivers links besides.
//
// # Layout
//
// A record describes one attempt of a RayJob, or a deleted RayCluster or RayService. It has these objects in the bucket:
//
//	objects/NAMESPACE/KIND/NAME/CREATED-UID/ATTEMPT-STARTED/log             the log of the driver, plain bytes
//	objects/NAMESPACE/KIND/NAME/CREATED-UID/ATTEMPT-STARTED/dashboard.json  answers of Ray's dashboard, by target
//	objects/NAMESPACE/KIND/NAME/CREATED-UID/ATTEMPT-STARTED/nodes           the logs of Ray's nodes, one after the other
//	objects/NAMESPACE/KIND/NAME/CREATED-UID/ATTEMPT-STARTED/record.json     all else
//	index/NAMESPACE/TIME_KIND_SIZE_ATTEMPT-STARTED_CREATED-UID_NAME         the summary of the record, as JSON
//	usage/NAMESPACE/MONTH/UID_QUEUE_OWNER_CPU_GPU_TPU_MEMORY                empty: the key has all that is summed
//	running/NAMESPACE/KIND/NAME/CREATED-UID/ATTEMPT-STARTED/BYTE            a part of the log of a job that runs, from a byte on
//
// Only RayClusters have a usage, for each month in which their Pods ran: a RayJob and a RayService share the Pods with their RayClusters, so
// that their usage is not added. Sums of a month need only a listing. The parts of a log exist until Sweep finds the record, which has their
// bytes if the dashboard lost the log.
//
// CREATED and STARTED are seconds since 1970, and ATTEMPT counts from 1, all with leading zeros, so that the records of a name are
// listed from the oldest to the newest. TIME is the end of the object in milliseconds, subtracted from a constant, so that the index
// is listed from the newest to the oldest. One listing gives a page of any number of objects. A name that is too long for a file
// system is shortened and gets a hash.
//
// # Write once
//
// The objects are written in the order of the list above, except that record.json comes last: a record exists once its
// record.json exists. It is never changed after that. A process that dies in between leaves no record; the next one writes the
// parts again. Writing the same record twice has no effect.
//
// # Bounds
//
// Limits bounds the size of each part. If something is cut or missing, Summary.Lost says what and why, and a log has a line at the
// place where bytes were cut. A reader never gets a shortened log without that line.
//
// A request to the store ends after Limits.Wait, also if the context has no deadline. Bucket has the same bound for other uses of a bucket.
//
// # Retention
//
// Sweep deletes the records of a namespace that are older than a limit, and then the oldest ones until the rest is smaller than a
// limit. It needs only the index, which has the sizes in the keys. The summary is deleted last, so that an interrupted deletion
// is continued by the next one. The usage stays for a year, so that sums do not depend on the records.
//
// # Secrets
//
// The store holds no credential: the process has its own, from the environment or a workload identity. Values of Secrets are not
// read, so they are not stored. What a user wrote into an object as plain text, such as the value of an environment variable in
// a RayJob, is stored as it is in the object. So is whatever a program prints. Encryption is that of the store.
package history
