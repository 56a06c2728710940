typedef int placeholder_judge;
