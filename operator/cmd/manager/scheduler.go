package main

// oldBatchSchedulerMeans is the scheduler that --enable-batch-scheduler stands for.
const oldBatchSchedulerMeans = "volcano"

func batchSchedulers() []string {
	return []string{"volcano", "yunikorn", "scheduler-plugins", "kai-scheduler"}
}
