"""What goes with a cluster, what stays, and how what stayed is taken up again."""
