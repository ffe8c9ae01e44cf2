"""What every task, algorithm, metric and check owes, as points that are examined one by one."""
